"""The curves of a length scan: memory, tokens, latency and speed over measured prompt tokens."""

from __future__ import annotations

import asyncio
import time
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar

from rich.segment import Segment
from textual.binding import Binding
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from kvtop.ui.drawing import plot
from kvtop.ui.drawing.blank import NO_RUN, TABS, Blank
from kvtop.ui.drawing.curve_frame import ROLES, TEXT, panel_rows, subtitle_of, title_of
from kvtop.ui.drawing.picture import AXIS, NOTE, changed_columns
from kvtop.ui.drawing.scan_charts import chart_of
from kvtop.ui.scan_view import SCHEMA, ScanView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.style import Style
    from textual.binding import BindingType
    from textual.content import Content
    from textual.timer import Timer

    from kvtop.ui.drawing.blank import Tab
    from kvtop.ui.drawing.chart import Chart
    from kvtop.ui.drawing.glyphs import Glyphs
    from kvtop.ui.drawing.picture import Row

LEAST_GAP_S = 2.0
"""Shortest time between two drawings of a growing curve, in seconds."""
_COLORS = {role: role for role in ROLES} | {TEXT: "foreground", NOTE: "muted", AXIS: "muted"}
"""Theme variable of each role."""
_OTHER_KIND = Blank("This run has no curves here.", "Its numbers are in `kvtop runs show`.")
_NO_PLOTEXT = Blank("plotext, which draws the curves, cannot be loaded.", "Install kvtop again.")


class CurvePanel(Widget, can_focus=True):
    """Draws a document when its curves have changed, a growing one at most every `LEAST_GAP_S`."""

    class TabShown(Message):
        """Another tab is shown."""

        def __init__(self, tab: Tab) -> None:
            super().__init__()
            self.tab: Tab = tab

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "next_tab", "next curve", show=False),
        Binding("left", "previous_tab", "curve before", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"curve-panel--{role}" for role in _COLORS}
    DEFAULT_CSS = """
    CurvePanel { border: round $border-blurred; }
    CurvePanel { border-title-color: $foreground; border-subtitle-color: $muted; }
    CurvePanel:focus { border: round $border; }
    CurvePanel.-ascii { border: ascii $border-blurred; }
    CurvePanel.-ascii:focus { border: ascii $border; }
    """ + "".join(
        f"CurvePanel > .curve-panel--{role} {{ color: ${color}; }}\n" for role, color in _COLORS.items()
    )

    def __init__(
        self,
        glyphs: Glyphs,
        *,
        title: str = "",
        least_gap_s: float = LEAST_GAP_S,
        id: str | None = None,  # noqa: A002  Textual's name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.set_class(glyphs.ascii, "-ascii")
        self.glyphs = glyphs
        self.title = title
        self._least_gap_s = least_gap_s
        self._tab: Tab = "memory"
        self._tab_is_chosen = False
        self._view: ScanView | Blank = NO_RUN
        self._shown: Chart | Blank = NO_RUN
        self._border: tuple[Content, Content] | None = None
        self._rows: tuple[Row, ...] = ()
        self._drawn_s = -least_gap_s
        self._timer: Timer | None = None
        self._loading = False
        self._plotext_is_missing = False

    @property
    def tab(self) -> Tab:
        """Which curves are shown."""
        return self._tab

    def show(self, document: Mapping[str, Any] | None) -> None:
        """Show a `kvtop.scan/1` document; None for no run. Until a tab is chosen by hand, a remote model's
        scan opens on its tokens, for it has no memory.
        """
        view = _view_of(document)
        if view == self._view:
            return
        same_run = (
            isinstance(view, ScanView) and isinstance(self._view, ScanView) and view.run == self._view.run
        )
        self._view = view
        if not self._tab_is_chosen:
            remote = isinstance(view, ScanView) and view.path == "api"
            self._go_to("tokens" if remote else "memory")
        self._draw_in_time(at_once=not same_run)

    def next_tab(self) -> None:
        """Show the next curves, the first after the last."""
        self.choose_tab(TABS[(TABS.index(self._tab) + 1) % len(TABS)])

    def previous_tab(self) -> None:
        """Show the curves before, the last before the first."""
        self.choose_tab(TABS[TABS.index(self._tab) - 1])

    def choose_tab(self, tab: Tab) -> None:
        """Show a tab and keep to it, whatever runs come."""
        self._tab_is_chosen = True
        self._go_to(tab)
        self._draw_in_time(at_once=True)

    def action_next_tab(self) -> None:
        """Show the next curves."""
        self.next_tab()

    def action_previous_tab(self) -> None:
        """Show the curves before."""
        self.previous_tab()

    def action_tab(self, name: str) -> None:
        """Show the tab of a name, for a click on it."""
        self.choose_tab(next(tab for tab in TABS if tab == name))

    def on_resize(self) -> None:
        """Draw for the new size."""
        self._name_border()
        self._draw()

    def render_line(self, y: int) -> Strip:
        """Return one row of the panel."""
        base = self.rich_style
        runs = self._rows[y] if y < len(self._rows) else ()
        segments = [Segment(run.text, self._style_of(run.role, base)) for run in runs]
        return Strip(segments).adjust_cell_length(self.content_size.width, base)

    def _style_of(self, role: str, base: Style) -> Style:
        return self.get_component_rich_style(f"curve-panel--{role}") if role else base

    def _go_to(self, tab: Tab) -> None:
        if tab != self._tab:
            self._tab = tab
            self.post_message(self.TabShown(tab))

    def _draw_in_time(self, *, at_once: bool) -> None:
        """Draw now, or when the last drawing is old enough; what comes until then is drawn with it."""
        wait_s = 0.0 if at_once else self._drawn_s + self._least_gap_s - time.monotonic()
        if wait_s <= 0 or not self.is_mounted:
            self._draw_changed()
        elif self._timer is None:
            self._timer = self.set_timer(wait_s, self._draw_changed)

    def _draw_changed(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        view = self._view
        shown = view if isinstance(view, Blank) else chart_of(view, self._tab)
        changed = shown != self._shown
        self._shown = shown
        self._name_border()
        if changed:
            self._draw()

    def _name_border(self) -> None:
        """Write tabs and origin into the border where they differ, for that repaints the whole panel."""
        width = self.outer_size.width
        origin = "" if isinstance(self._shown, Blank) else self._shown.origin
        simulated = isinstance(self._view, ScanView) and self._view.simulated
        border = (
            title_of(self.title, self._tab, width, self.glyphs),
            subtitle_of(origin, width, self.glyphs, simulated=simulated),
        )
        if border != self._border:
            self._border = border
            self.border_title, self.border_subtitle = border

    def _draw(self) -> None:
        """Draw what is shown and have those rows painted that have changed."""
        size = self.content_size
        if not size:
            return
        shown = _NO_PLOTEXT if self._plotext_is_missing else self._shown
        if not isinstance(shown, Blank) and not plot.is_loaded():
            self._load_plotext()
            return
        self._drawn_s = time.monotonic()
        before = self._rows
        self._rows = panel_rows(shown, size.width, size.height, self.glyphs)
        for y, (old, new) in enumerate(zip_longest(before, self._rows, fillvalue=())):
            if columns := changed_columns(old, new, size.width):
                self.refresh(Region(columns[0], y, columns[1], 1))

    def _load_plotext(self) -> None:
        if not self._loading:
            self._loading = True
            self.run_worker(self._wait_for_plotext(), group="plotext", description="load plotext")

    async def _wait_for_plotext(self) -> None:
        try:
            await asyncio.to_thread(plot.load)
        except ImportError:
            self._plotext_is_missing = True
        self._draw()


def _view_of(document: Mapping[str, Any] | None) -> ScanView | Blank:
    if document is None:
        return NO_RUN
    return ScanView.read(document) if document.get("schema") == SCHEMA else _OTHER_KIND
