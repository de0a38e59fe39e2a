"""The one screen that people keep open: GPUs, engine, requests, curves and findings."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, cast

from textual.actions import SkipAction
from textual.binding import BindingsMap
from textual.containers import Container, Horizontal, Vertical
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from kvtop.ui.arrangement import (
    CURVES,
    FINDINGS,
    GPUS,
    PANELS,
    REQUESTS,
    SMALLEST_HEIGHT,
    SMALLEST_WIDTH,
    Arrangement,
    arrange,
)
from kvtop.ui.gpu_names import gpu_index
from kvtop.ui.key_bindings import bindings_of
from kvtop.ui.scan_view import findings_of
from kvtop.ui.widgets.curve_panel import CurvePanel
from kvtop.ui.widgets.engine_strip import EngineStrip
from kvtop.ui.widgets.findings_list import FindingsList
from kvtop.ui.widgets.gpu_panel import GpuPanel
from kvtop.ui.widgets.header_bar import HeaderBar
from kvtop.ui.widgets.key_bar import KeyBar
from kvtop.ui.widgets.memory_history import MemoryHistory
from kvtop.ui.widgets.panel import Panel
from kvtop.ui.widgets.panel_tabs import PanelTabs
from kvtop.ui.widgets.progress_line import ProgressLine
from kvtop.ui.widgets.request_log import RequestLog

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from textual.app import ComposeResult

    from kvtop.model.record import RequestRecord
    from kvtop.ui.actions import Action
    from kvtop.ui.app import KvtopApp
    from kvtop.ui.drawing.glyphs import Glyphs
    from kvtop.ui.messages import EngineView, GpuSnapshot, ProgressTold

_IDS = {GPUS: "gpus", REQUESTS: "requests", CURVES: "curves", FINDINGS: "findings"}
_SPANS_KEPT = 600


class Cockpit(Screen[None]):
    """Shows what it is told and turns keys into wishes; the app carries these out."""

    AUTO_FOCUS = "RequestLog"

    def __init__(self, actions: tuple[Action, ...], glyphs: Glyphs) -> None:
        super().__init__()
        self._actions = actions
        self._glyphs = glyphs
        self._bindings = BindingsMap.merge([self._bindings, bindings_of(actions, "cockpit")])
        self._chosen: int | None = None
        self._has_findings = False
        self._spans: deque[tuple[float, float]] = deque(maxlen=_SPANS_KEPT)
        self._make_parts(glyphs)

    @property
    def kvtop(self) -> KvtopApp:
        """The app, which carries out what the user wants."""
        return cast("KvtopApp", self.app)

    def compose(self) -> ComposeResult:
        """Lay out the panels."""
        yield self.header
        yield self._tabs
        with Container(id="panels"):
            with Horizontal(id="top"):
                yield self._panels[GPUS]
                with Vertical(id="right"):
                    yield self._curves
                    yield self._panels[FINDINGS]
            yield self._panels[REQUESTS]
        yield self._progress
        yield KeyBar(self._actions)
        yield self._too_small

    def on_mount(self) -> None:
        """Say what is missing until it comes."""
        self._panels[REQUESTS].show_empty("No run yet.", "s plans a length scan; r opens an older run.")
        self._panels[FINDINGS].show_empty("No findings yet.", "They grow with a run.")
        self.kvtop.header.draw(self.header)
        self._arrange()

    def on_resize(self) -> None:
        """Show what fits."""
        self._arrange()

    def show_gpus(self, snapshot: GpuSnapshot) -> None:
        """Show the GPUs, or why there are none."""
        self._gpus.show(snapshot)
        self._history.display = bool(snapshot.history)
        names = {reading.device.uuid: gpu_index(reading.device) for reading in snapshot.readings}
        self._history.show(snapshot.history, tuple(self._spans), names=names)

    def show_engine(self, view: EngineView | None) -> None:
        """Show what is known of the engine."""
        self._engine.show(view)

    def open_run(self, note: str) -> None:
        """Make room for another run."""
        self._spans.clear()
        self.name_requests(note)
        self._log.add((), replace=True)
        self.show_findings({})
        self._curves.show(None)

    def name_requests(self, note: str) -> None:
        """Say whose requests are shown."""
        self._panels[REQUESTS].tell(note)

    def add_requests(self, run_id: str, records: tuple[RequestRecord, ...], *, replace: bool) -> None:
        """Show more requests, or these instead."""
        if replace:
            self._spans.clear()
        self._spans.extend((record.ts, record.end_ts) for record in records)
        if records:
            self._panels[REQUESTS].show_content()
        self._log.add(records, replace, run_id)

    def show_progress(self, told: ProgressTold | None) -> None:
        """Show how far the run is."""
        self._progress.show(told)

    def show_analysis(self, document: Mapping[str, Any]) -> None:
        """Show curves and findings."""
        self._curves.show(document)
        self.show_findings(document)

    def show_findings(self, document: Mapping[str, Any]) -> None:
        """Show the findings of an analysis."""
        findings = findings_of(document)
        self._findings.show(findings)
        if findings:
            self._panels[FINDINGS].show_content()
        if bool(findings) != self._has_findings:
            self._has_findings = bool(findings)
            self._arrange()

    def on_request_log_chosen(self, event: RequestLog.Chosen) -> None:
        """Show a request whole."""
        from kvtop.ui.screens.request_detail import RequestDetail

        self.app.push_screen(RequestDetail(event.record, self._glyphs))

    def on_findings_list_chosen(self, event: FindingsList.Chosen) -> None:
        """Show a finding whole."""
        from kvtop.ui.screens.finding_detail import FindingDetail

        self.app.push_screen(FindingDetail(event.finding, self._glyphs))

    async def on_key_bar_pressed(self, event: KeyBar.Pressed) -> None:
        """Do what was clicked."""
        await self.run_action(event.action.target)

    def on_panel_tabs_clicked(self, event: PanelTabs.Clicked) -> None:
        """Show the panel that was clicked."""
        self.action_show_panel(event.number)

    def action_show_panel(self, number: int) -> None:
        """Show one panel alone and put the focus on it."""
        self._chosen = number
        self._arrange()
        self._reach(number)

    def action_restore(self) -> None:
        """Show all panels again; with all in view, or while a word is typed, the key is the panel's own."""
        if self._chosen is None or isinstance(self.focused, Input):
            raise SkipAction
        self._chosen = None
        self._arrange()

    def action_next_curve(self) -> None:
        """Go on to the next curve."""
        self._curves.next_tab()

    def action_follow(self) -> None:
        """Keep the newest request in view, or stop doing so."""
        self._log.follow = not self._log.follow
        told = "Following the newest request." if self._log.follow else "Not following."
        self.notify(told, markup=False, timeout=2)

    def action_filter(self) -> None:
        """Ask for a word to filter by, where there is something to filter."""
        if not self._log.position.total:
            self.notify("No request to filter yet.", markup=False, timeout=2)
            return
        if not self._panels[REQUESTS].display:
            self.action_show_panel(REQUESTS)
        self._log.ask_filter()

    def action_scan(self) -> None:
        """Plan a scan."""
        self.kvtop.control.plan_scan()

    def action_runs(self) -> None:
        """Choose a run."""
        self.kvtop.control.choose_run()

    def action_cancel(self) -> None:
        """Stop the run in view."""
        self.kvtop.control.cancel()

    def action_merge(self) -> None:
        """Show the requests of all runs, or of one."""
        self.kvtop.control.merge()

    def action_processes(self) -> None:
        """List the processes on the GPUs."""
        self.kvtop.control.show_processes()

    def action_copy(self) -> None:
        """Copy what is selected."""
        self.kvtop.copy(self._copyable())

    def focused_panel(self) -> str | None:
        """Return the id of the panel that has the focus, or of the one in view alone."""
        if self.focused is not None:
            for node in self.focused.ancestors_with_self:
                if node.id in _IDS.values():
                    return node.id
        return _IDS.get(self._chosen or 0)

    def _make_parts(self, glyphs: Glyphs) -> None:
        """Make what is shown. Kept at hand, as news may still come while the screen is taken down."""
        self.header = HeaderBar(glyphs)
        self._tabs = PanelTabs(PANELS, glyphs)
        self._gpus, self._history = GpuPanel(glyphs), MemoryHistory(glyphs)
        self._engine = EngineStrip(glyphs)
        self._curves = CurvePanel(glyphs, title=f"{CURVES} {PANELS[CURVES]}", id=_IDS[CURVES])
        self._findings = FindingsList(glyphs)
        self._log = RequestLog(glyphs)
        self._progress = ProgressLine(glyphs)
        self._too_small = Static(
            f"kvtop needs {SMALLEST_WIDTH}x{SMALLEST_HEIGHT}", id="too-small", markup=False
        )
        self._panels = {
            number: Panel(number, PANELS[number], glyphs, *content, id=_IDS[number])
            for number, content in {
                GPUS: (self._gpus, self._history, self._engine),
                FINDINGS: (self._findings,),
                REQUESTS: (self._log,),
            }.items()
        }

    def _copyable(self) -> str:
        """Return what the focused widget offers to copy, else the path of the run folder."""
        offered = getattr(self.focused, "text_to_copy", None)
        text = offered() if callable(offered) else None
        return text or self.kvtop.control.folder

    def _reach(self, number: int) -> None:
        place = self.query_one(f"#{_IDS[number]}")
        for widget in place.walk_children(Widget, with_self=True):
            if widget.focusable:
                widget.focus()
                return
        self.set_focus(None)

    def _arrange(self) -> None:
        width, height = self.size
        if not width:
            return
        shown = arrange(width, height, self._chosen, has_findings=self._has_findings)
        for number, place in _IDS.items():
            self.query_one(f"#{place}").display = number in shown.visible
        self.query_one("#right").display = bool(shown.visible & {CURVES, FINDINGS})
        self.query_one("#top").display = bool(shown.visible - {REQUESTS})
        self._mark(shown)

    def _mark(self, shown: Arrangement) -> None:
        self.set_class(shown.mode == "tabs", "-tabs")
        self.set_class(shown.mode == "too-small", "-too-small")
        self.set_class(len(shown.visible) == 1, "-alone")
        if len(shown.visible) == 1:
            self._tabs.chosen = min(shown.visible)
        for panel in self._panels.values():
            panel.set_class(shown.mode == "tabs", "-bare")
