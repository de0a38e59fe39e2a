"""Looks for rows that match a filter, in a thread, the newest first, and leaves the others time to work."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kvtop.ui.requests.filter import RequestFilter
    from kvtop.ui.requests.log_row import RequestRows

BLOCK_ROWS = 256
"""Rows tested at a time: at most four milliseconds of a log on disk."""
PAUSE_S = 0.0005
"""Rest between blocks. It hands the interpreter to the thread that answers keys."""
FIRST_REPORT_S = 0.05
REPORT_S = 0.25
"""Time between reports, in seconds."""
_WAIT_S = 0.02


class Report(Protocol):
    """Takes numbers of rows that match."""

    def __call__(self, found: Sequence[int], *, ended: bool) -> None:
        """Take them; `ended` says that these were the last."""


def search(
    rows: RequestRows,
    wanted: RequestFilter,
    numbers: range | None,
    report: Report,
    is_cancelled: Callable[[], bool],
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Tell the numbers whose rows match, in ascending batches, each older than the last.

    Looks at `numbers`, or at all rows there are, and then goes on while the source still finds older
    ones. The first report comes soon, perhaps an empty one; a cancelled search ends without a last one.
    """
    found: list[int] = []
    is_first = True
    before = rows.span.stop if numbers is None else numbers.stop
    after = None if numbers is None else numbers.start
    due_s = clock() + FIRST_REPORT_S
    while not is_cancelled():
        oldest = rows.span.start if after is None else after
        block = range(max(before - BLOCK_ROWS, oldest), before)
        if block:
            found = rows.matching(block, wanted) + found
            before = block.start
            time.sleep(PAUSE_S)
        elif after is not None or (rows.complete and before <= rows.span.start):
            report(found, ended=True)
            return
        else:
            time.sleep(_WAIT_S)
        if clock() >= due_s and (found or is_first):
            report(found, ended=False)
            found, is_first, due_s = [], False, clock() + REPORT_S
