"""Where the rows of the log come from: reading and searching in threads, results taken as they arrive."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from textual.containers import Vertical
from textual.message import Message
from textual.worker import get_current_worker

from kvtop.ui.requests.index import FileIndex
from kvtop.ui.requests.live_rows import LiveRows
from kvtop.ui.requests.loader import RowLoader
from kvtop.ui.requests.row_view import RowView
from kvtop.ui.requests.search import PAUSE_S, search
from kvtop.ui.widgets.request_table import RequestTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from kvtop.model.endpoint import Price
    from kvtop.model.record import RequestRecord
    from kvtop.ui.drawing.glyphs import Glyphs
    from kvtop.ui.requests.filter import RequestFilter

READ_TOLD_S = 0.1
"""Time between two messages about rows that were found in a file, in seconds."""


class RowsRead(Message):
    """The index of a file has more rows, or is complete."""

    def __init__(self, index: FileIndex) -> None:
        super().__init__()
        self.index = index

    def can_replace(self, message: Message) -> bool:
        """Whether `message` tells of the same index."""
        return isinstance(message, RowsRead) and message.index is self.index


class RowsFound(Message):
    """A search has found rows for a view, or has come to its end."""

    def __init__(self, view: RowView, numbers: Sequence[int], *, ended: bool) -> None:
        super().__init__()
        self.view = view
        self.numbers = numbers
        self.ended = ended


class RowsLoaded(Message):
    """Rows came too late for the draw that wanted them."""


class LogReader(Vertical):
    """Keeps the table on the rows of a run or a file, through a filter or without. Needs no keys."""

    def __init__(self, glyphs: Glyphs, price: Price | None = None, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.rows: LiveRows | FileIndex = LiveRows()
        self.wanted: RequestFilter | None = None
        self.is_searching = False
        self._view = RowView(self.rows)
        self._loader = RowLoader(lambda: self.post_message(RowsLoaded()))
        self.table = RequestTable(self._view, glyphs, self._loader, price)

    def on_unmount(self) -> None:
        """Let the thread go."""
        self._loader.close()

    def add(self, records: Iterable[RequestRecord], replace: bool = False, run_id: str = "") -> None:  # noqa: FBT001, FBT002 - the app's interface
        """Show more requests of a run, or these instead of all others.

        One with an id that is there already takes its place. While a file is open, requests are taken
        from there: each is in its file before anyone tells of it.
        """
        if isinstance(self.rows, FileIndex) and not replace:
            self._read_on(self.rows)
        elif isinstance(self.rows, FileIndex) or replace:
            self.rows = LiveRows()
            self.rows.add(records, run_id)
            self._begin()
        else:
            self._retest(self.rows.add(records, run_id).replaced)
            self._take_new()

    def open(self, path: Path, run_id: str = "") -> None:
        """Show the requests of a file instead, the newest at once and the older ones as they are found."""
        self.rows = index = FileIndex(path, run_id)
        self._begin()
        self.run_worker(lambda: self._read(index), group="log-read", exclusive=True, thread=True)

    def search_for(self, wanted: RequestFilter | None) -> None:
        """Show only the rows that match; all of them for None."""
        if wanted != self.wanted:
            self.wanted = wanted
            self._begin()

    def on_rows_read(self, message: RowsRead) -> None:
        """Take rows that were found in the file."""
        message.stop()
        index = message.index
        if index is not self.rows:
            return
        if index.outdated:
            self.open(index.path, index.run_id)
        else:
            self._take_new()

    def on_rows_found(self, message: RowsFound) -> None:
        """Take rows that match."""
        message.stop()
        view = message.view
        if view is not self._view:
            return
        self.is_searching = self.is_searching and not message.ended
        in_front = view.add(message.numbers)
        if self.table.view is view:
            self.table.rows_came(in_front, len(message.numbers) - in_front)
        else:
            self.table.show_view(view)

    def on_rows_loaded(self, message: RowsLoaded) -> None:
        """Draw them now."""
        message.stop()
        self.table.repaint()

    def _begin(self) -> None:
        """Show the rows anew. Those of before stay on screen until a search has its first word."""
        wanted, rows = self.wanted, self.rows
        self._view = view = RowView(rows, filtered=wanted is not None)
        self.workers.cancel_group(self, "log-search")
        self.is_searching = wanted is not None
        if wanted is None:
            self.table.show_view(view)
        else:
            self._search(view, wanted)

    def _take_new(self) -> None:
        """Show rows that the source has now, as far as they match."""
        view, wanted = self._view, self.wanted
        in_front, newer = view.take_new()
        if wanted is not None and newer:
            self._search(view, wanted, newer)
        if self.table.view is view:
            self.table.rows_came(in_front, 0 if wanted else len(newer))

    def _retest(self, replaced: Sequence[int]) -> None:
        for number in replaced if self.wanted is not None else ():
            if self.wanted is not None and self.rows.matching([number], self.wanted):
                self._view.add([number])
            else:
                self._view.drop(number)

    def _search(self, view: RowView, wanted: RequestFilter, numbers: range | None = None) -> None:
        """Look through all rows, or through new ones."""

        def look() -> None:
            def report(found: Sequence[int], *, ended: bool) -> None:
                self.post_message(RowsFound(view, found, ended=ended and numbers is None))

            search(view.rows, wanted, numbers, report, worker_is_cancelled)

        self.run_worker(look, group="log-search", thread=True)

    def _read(self, index: FileIndex) -> None:
        """Find all rows of a file, the newest first."""
        due_s = 0.0
        while index.read_older() and not worker_is_cancelled():
            time.sleep(PAUSE_S)
            if time.monotonic() >= due_s:
                self.post_message(RowsRead(index))
                due_s = time.monotonic() + READ_TOLD_S
        self.post_message(RowsRead(index))

    def _read_on(self, index: FileIndex) -> None:
        def read() -> None:
            if index.read_newer() or index.outdated:
                self.post_message(RowsRead(index))

        self.run_worker(read, group="log-read-on", exclusive=True, thread=True)


def worker_is_cancelled() -> bool:
    """Whether the thread that asks should end."""
    return get_current_worker().is_cancelled
