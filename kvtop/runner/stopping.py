"""Signals of a runner: stop and keep the data, or outlive the terminal."""

from __future__ import annotations

import asyncio
import signal
from types import FrameType, TracebackType
from typing import Any, Self

STOPPING = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """Holds the signals of this process while a run goes on, from before it is locked to its last row.

    The first SIGINT or SIGTERM cancels the task that is watched, or the next one that will be; a second
    kills, for a user who will not wait. SIGHUP is ignored, so that a dropped SSH link stops nothing.
    A signal that is ignored already, as under `nohup`, stays so. For the main thread only.
    """

    def __init__(self) -> None:
        self._requested = False
        self._task: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self._hold(signal.SIGHUP, signal.SIG_IGN)
        for number in STOPPING:
            self._hold(number, self._stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def watch(self) -> None:
        """Cancel the current task when a signal comes, at once when one has come before."""
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        if self._requested and self._task is not None:
            self._task.cancel()

    def let_go(self) -> None:
        """Leave the task alone from now on: the run is being closed."""
        self._task = None

    def _hold(self, number: signal.Signals, handler: Any) -> None:
        previous = signal.getsignal(number)
        if previous is not signal.SIG_IGN and previous is not None:
            self._previous[number] = signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a signal handler's form
        self._requested = True
        for held in STOPPING:
            if held in self._previous:
                signal.signal(held, signal.SIG_DFL)
        if self._task is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._task.cancel)
