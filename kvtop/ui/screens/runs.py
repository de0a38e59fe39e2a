"""The archive: every run, newest first, to open, to stop and to finish."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from kvtop.model.failure import KvtopError
from kvtop.runs.archive import RunSummary, list_runs
from kvtop.ui.drawing.glyphs import Glyphs
from kvtop.ui.resume_cost import resume_sentence
from kvtop.ui.run_rows import run_header, run_row

if TYPE_CHECKING:
    from pathlib import Path

    from textual.app import ComposeResult

LATEST = "latest"
MOST_RUNS = 1000
"""Runs that are shown, the newest; `kvtop runs list` shows all."""
REFRESH_S = 3.0
_CHEAP_S = 0.2
"""A list that takes longer to read is not read again by itself."""
_SCROLLBAR = 2
_KEYS = "Enter opens   f follows the newest   x stops   e finishes   Esc leaves"


class RunsScreen(ModalScreen[str | None]):
    """Returns the id of the run to show, `latest` to follow the newest always, or None.

    Stopping and finishing are wishes, posted as `CancelWanted` and `ResumeWanted`, each after a second
    press of its key.
    """

    CSS_PATH = "../styles/runs.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,r", "leave", "leave", show=False),
        Binding("f", "follow", "follow the newest", show=False),
        Binding("x", "stop", "stop", show=False),
        Binding("e", "finish", "finish", show=False),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
    ]

    class CancelWanted(Message):
        """A live run is to be stopped; its data is kept."""

        def __init__(self, run_id: str) -> None:
            super().__init__()
            self.run_id = run_id

    class ResumeWanted(Message):
        """What is missing in a run is to be measured; the user has seen what that sends."""

        def __init__(self, run_id: str) -> None:
            super().__init__()
            self.run_id = run_id

    def __init__(self, root: Path, *, glyphs: Glyphs | None = None, refresh_s: float = REFRESH_S) -> None:
        super().__init__()
        self._root = root
        self._glyphs = glyphs or Glyphs()
        self._refresh_s = refresh_s
        self._runs: tuple[RunSummary, ...] = ()
        self._asked: tuple[str, str] | None = None
        """The key that was pressed once, and the run it was pressed on."""

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        with Vertical(id="archive"):
            yield Static("", id="columns", markup=False)
            yield OptionList(id="runs", markup=False, compact=True)
            yield Static("", id="told", markup=False)

    def on_mount(self) -> None:
        """Read the archive, and again as long as that is cheap."""
        box = self.query_one("#archive")
        box.border_title = Content("Runs")
        box.border_subtitle = Content(self._glyphs.shown(_KEYS))
        self._tell("Reading the archive")
        self.query_one(OptionList).focus()
        self._read()

    def on_resize(self) -> None:
        """Lay the rows out anew."""
        self.call_after_refresh(self._draw)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open the run."""
        self.dismiss(self._runs[event.option_index].id)

    def on_option_list_option_highlighted(self) -> None:
        """Forget a key that was pressed on another run."""
        self._forget()

    def action_leave(self) -> None:
        """Leave the run in view as it is."""
        self.dismiss(None)

    def action_follow(self) -> None:
        """Show the newest run, always."""
        self.dismiss(LATEST)

    def action_move(self, step: int) -> None:
        """Move the cursor."""
        runs = self.query_one(OptionList)
        if step > 0:
            runs.action_cursor_down()
        else:
            runs.action_cursor_up()

    def action_stop(self) -> None:
        """Stop a live run, after a second press."""
        run = self._under_cursor()
        if run is None:
            return
        if run.state != "running":
            self._tell(f"{run.id} is not going on.")
        elif self._is_second("x", run):
            self._tell(f"Asked {run.id} to stop; what it measured is kept.")
            self.post_message(self.CancelWanted(run.id))
        else:
            self._tell(f"x again stops {run.id}; what it measured is kept.")

    def action_finish(self) -> None:
        """Measure what is missing in a run, after a second press that follows the cost."""
        run = self._under_cursor()
        if run is None:
            return
        if run.state in ("running", "done") or run.kind != "scan":
            self._tell(f"There is nothing to finish in {run.id}.")
        elif self._is_second("e", run):
            self.post_message(self.ResumeWanted(run.id))
            self.dismiss(None)
        else:
            self._tell_cost(run)

    def _under_cursor(self) -> RunSummary | None:
        place = self.query_one(OptionList).highlighted
        return self._runs[place] if place is not None and place < len(self._runs) else None

    def _is_second(self, key: str, run: RunSummary) -> bool:
        asked, self._asked = self._asked, (key, run.id)
        if asked != (key, run.id):
            return False
        self._asked = None
        return True

    def _forget(self) -> None:
        if self._asked is not None:
            self._asked = None
            self._tell(self._summary())

    @work(thread=True, group="archive", exit_on_error=False)
    def _read(self) -> None:
        begun = time.monotonic()
        try:
            runs, problem = tuple(list_runs(self._root)[:MOST_RUNS]), ""
        except KvtopError as error:
            runs, problem = (), str(error.failure)
        self.call_later(self._take, runs, problem, time.monotonic() - begun)

    def _take(self, runs: tuple[RunSummary, ...], problem: str, took_s: float) -> None:
        if runs != self._runs or not runs:
            at = self._under_cursor()
            self._runs = runs
            self._draw(at.id if at is not None else None)
        if self._asked is None:
            self._tell(problem or self._summary())
        if took_s < _CHEAP_S:
            self.set_timer(self._refresh_s, self._read)

    def _draw(self, run_id: str | None = None) -> None:
        shown = self.query_one(OptionList)
        width = self.query_one("#archive").size.width - _SCROLLBAR
        place = next((n for n, run in enumerate(self._runs) if run.id == run_id), shown.highlighted or 0)
        shown.set_options(Option(run_row(run, width, self._glyphs)) for run in self._runs)
        shown.highlighted = min(place, len(self._runs) - 1) if self._runs else None
        self.query_one("#columns", Static).update(run_header(width))

    def _summary(self) -> str:
        if not self._runs:
            return "No runs yet. s in the cockpit plans one."
        count = len(self._runs)
        return (
            f"{count:,} runs"
            if count < MOST_RUNS
            else f"The newest {count:,} runs; kvtop runs list shows all."
        )

    @work(thread=True, group="resume-cost", exit_on_error=False)
    def _tell_cost(self, run: RunSummary) -> None:
        sends = resume_sentence(self._root, run.id)
        self.call_later(self._tell, f"e again finishes {run.id}; {sends}.")

    def _tell(self, text: str) -> None:
        content = Content(self._glyphs.shown(text))
        told = self.query_one("#told", Static)
        if told.content != content:
            told.update(content)
