"""Notices that the terminal has gone away, so that the app ends instead of spinning on a dead one."""

from __future__ import annotations

import os
import select
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PERIOD_S = 0.5
GRACE_S = 1.0
"""Time for an orderly end; after that the process is ended at once, as its drawing thread may be stuck."""


class TerminalWatch:
    """A thread that calls `on_lost` once when `fileno` hangs up or this process loses its parent."""

    def __init__(
        self,
        fileno: int,
        on_lost: Callable[[], object],
        *,
        parent: Callable[[], int] = os.getppid,
        give_up: Callable[[], object] | None = None,
    ) -> None:
        self._fileno = fileno
        self._on_lost = on_lost
        self._parent = parent
        self._give_up = give_up or _end_process
        self._stopped = threading.Event()
        self._was_orphan = parent() == 1
        self._thread = threading.Thread(target=self._run, name="kvtop-terminal-watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """End the watch; never blocks."""
        self._stopped.set()

    def is_lost(self) -> bool:
        """Whether the terminal hangs up now, or the parent has died."""
        return self._hung_up(0) or (not self._was_orphan and self._parent() == 1)

    def _run(self) -> None:
        while not self._stopped.is_set() and not self._hung_up(PERIOD_S):
            if not self._was_orphan and self._parent() == 1:
                break
        if self._stopped.is_set():
            return
        self._on_lost()
        if not self._stopped.wait(GRACE_S):
            self._give_up()

    def _hung_up(self, timeout_s: float) -> bool:
        poll = select.poll()
        poll.register(self._fileno, 0)  # hang-ups and errors are always told
        return any(
            event & (select.POLLHUP | select.POLLERR | select.POLLNVAL)
            for _, event in poll.poll(timeout_s * 1000)
        )


def _end_process() -> None:
    os._exit(129)
