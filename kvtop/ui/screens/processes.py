"""The processes on the GPUs: read-only, kvtop ends none."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import DataTable, Static

from kvtop.ui.process_rows import FOREIGN_NOTE, has_foreign, process_rows, sum_line
from kvtop.ui.widgets.gpu_detail import fault_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.app import ComposeResult

    from kvtop.ui.messages import GpuSnapshot
    from kvtop.ui.process_rows import ProcessRow

REFRESH_S = 2.0
"""As often as the sampler reads the lists."""
MOST_ROWS = 500

_COLUMNS = (("pid", 8), ("user", 10), ("GPU", 4), ("GPU memory", 11), ("host memory", 11), ("command", None))
_NUMBERS = ("pid", "GPU", "GPU memory", "host memory")


class ProcessesScreen(ModalScreen[None]):
    """Lists them by GPU memory, with the sums by GPU and the reasons for what is missing."""

    CSS_PATH = "../styles/processes.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,o,q", "dismiss", "Close", id="processes.close")]

    def __init__(self, snapshot: Callable[[], GpuSnapshot | None]) -> None:
        super().__init__()
        self._snapshot = snapshot
        self._rows: tuple[ProcessRow, ...] = ()
        self._words = ""

    def compose(self) -> ComposeResult:
        """Lay out the table and the notes."""
        with Vertical(id="processes") as box:
            box.border_title = "Processes on the GPUs"
            box.border_subtitle = "esc closes"
            yield DataTable(cursor_type="row", zebra_stripes=False, id="process-table")
            yield Static(id="process-notes", markup=False)

    def on_mount(self) -> None:
        """Make the columns and begin to look."""
        table = self._table()
        for name, width in _COLUMNS:
            table.add_column(
                Text(name, justify="right" if name in _NUMBERS else "left"), width=width, key=name
            )
        self._look()
        self.set_interval(REFRESH_S, self._look)

    def _look(self) -> None:
        snapshot = self._snapshot()
        if snapshot is not None:
            self.run_worker(
                lambda: self._read(snapshot),
                thread=True,
                exclusive=True,
                exit_on_error=False,
                group="processes",
            )
        elif not self._words:
            self._note("Waiting for the first GPU reading.")

    def _read(self, snapshot: GpuSnapshot) -> None:
        """Look at the host, in a thread: a process list may be long and /proc slow."""
        from kvtop.telemetry.process_facts import process_facts  # late: loads psutil

        rows = process_rows(snapshot, process_facts)[:MOST_ROWS]
        self.app.call_later(self._show, rows, "\n".join(_notes(snapshot, rows)))

    def _show(self, rows: tuple[ProcessRow, ...], words: str) -> None:
        if not self.query("#process-table"):  # read while the screen was being taken down
            return
        if rows != self._rows:
            self._rows = rows
            self._fill(rows)
        self._note(words)

    def _fill(self, rows: tuple[ProcessRow, ...]) -> None:
        table = self._table()
        cursor = table.cursor_row
        with self.app.batch_update():
            table.clear()
            for row in rows:
                table.add_row(
                    *(_cell(text, name) for text, (name, _) in zip(row.cells, _COLUMNS, strict=True))
                )
            table.move_cursor(row=min(cursor, len(rows) - 1))

    def _note(self, words: str) -> None:
        if words != self._words:
            self._words = words
            self.query_one("#process-notes", Static).update(words)

    def _table(self) -> DataTable[Text]:
        return self.query_one("#process-table", DataTable)


def _cell(text: str, column: str) -> Text:
    return Text(text, justify="right" if column in _NUMBERS else "left", no_wrap=True)


def _notes(snapshot: GpuSnapshot, rows: tuple[ProcessRow, ...]) -> Iterator[str]:
    for failure in snapshot.status.failures:
        yield str(failure)
    if not rows and snapshot.readings:
        yield "No process holds GPU memory."
    if has_foreign(snapshot):
        yield FOREIGN_NOTE
    for reading in snapshot.readings:
        yield sum_line(reading, snapshot)
        yield from (f"   {line}" for line in fault_lines(reading))
