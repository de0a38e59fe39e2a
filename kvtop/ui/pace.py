"""How fast the terminal takes what is drawn, and how often it is worth drawing.

A terminal behind a slow link blocks its writer. Drawing on would fill the queue in front of it, and a
key would be echoed behind all of that.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FULL_INTERVAL_S = 0.5
"""Time between two updates of the numbers on a terminal that keeps up."""
LONGEST_INTERVAL_S = 8.0

_BUSY = 0.25
"""Share of a second spent in writing from which the rate is halved."""
_IDLE = 0.05
_CALM_SECONDS = 4
"""Calm seconds in a row before the rate is doubled again."""


class Pace:
    """Counts what waits for the terminal and sets the time between updates. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = 0
        self._writing_s = 0.0
        self._calm = 0
        self._interval_s = FULL_INTERVAL_S
        self._on_drained: Callable[[], object] | None = None

    @property
    def interval_s(self) -> float:
        """Time between two updates that the terminal can bear, in seconds."""
        return self._interval_s

    @property
    def is_slow(self) -> bool:
        """Whether less is drawn than a terminal that keeps up would get."""
        return self._interval_s > FULL_INTERVAL_S

    @property
    def waiting(self) -> int:
        """Writes that were handed over and are not on the terminal yet."""
        return self._waiting

    def queued(self) -> None:
        """Note a write that was handed to the writer."""
        with self._lock:
            self._waiting += 1

    def taken(self, writes: int, seconds: float) -> None:
        """Note that the terminal has taken some writes, and how long it held the writer up."""
        with self._lock:
            self._waiting = max(self._waiting - writes, 0)
            self._writing_s += seconds
            drained = self._on_drained if not self._waiting else None
            if drained:
                self._on_drained = None
        if drained:
            drained()

    def when_drained(self, call: Callable[[], object]) -> bool:
        """Have `call` called once, by the writer's thread, when nothing waits; False if nothing does now."""
        with self._lock:
            if not self._waiting:
                return False
            self._on_drained = call
            return True

    def forget(self) -> None:
        """Take all that waits as gone: the terminal was given back and taken again."""
        self.taken(self._waiting, 0.0)

    def second_passed(self, in_flight_s: float = 0.0) -> bool:
        """Judge the last second and return whether the interval has changed.

        `in_flight_s` is how long a write that has not come back yet has been held up.
        """
        with self._lock:
            share, self._writing_s = max(self._writing_s, in_flight_s), 0.0
            before = self._interval_s
            if share > _BUSY:
                self._calm = 0
                self._interval_s = min(before * 2, LONGEST_INTERVAL_S)
            elif share < _IDLE:
                self._calm += 1
                if self._calm >= _CALM_SECONDS:
                    self._calm = 0
                    self._interval_s = max(before / 2, FULL_INTERVAL_S)
            else:
                self._calm = 0
            return self._interval_s != before
