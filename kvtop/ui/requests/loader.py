"""Brings rows into memory in a thread and waits for them no longer than a key may wait."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kvtop.ui.requests.log_row import RequestRows

PATIENCE_S = 0.02
"""How long a draw waits for rows: a warm file answers in one to four milliseconds."""


class RowLoader:
    """Loads the rows wanted last; earlier wishes that have not begun are dropped."""

    def __init__(self, told: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
        """`told` is called from another thread when rows came too late for the draw that wanted them."""
        self._told = told
        self._patience_s = patience_s
        self._pool: ThreadPoolExecutor | None = None
        self._pending: Future[None] | None = None

    def load(self, rows: RequestRows, numbers: Sequence[int]) -> None:
        """Return when the rows are in memory, or after the patience."""
        if self._pending is not None:
            self._pending.cancel()
        self._pool = self._pool or ThreadPoolExecutor(1, "request-rows")
        self._pending = pending = self._pool.submit(rows.load, numbers)
        try:
            pending.result(self._patience_s)
        except TimeoutError:
            pending.add_done_callback(lambda done: done.cancelled() or self._told())

    def close(self) -> None:
        """End the thread when it is done with what it does."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
