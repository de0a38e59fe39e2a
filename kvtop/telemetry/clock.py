"""The sampler's clock: deadlines that do not drift, and how late they were met."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

KEPT_TICKS = 12_000
"""Ticks over which percentiles of lateness are taken: 20 minutes at 100 ms."""


class Clock(Protocol):
    """Time as the sampler sees it; tests bring their own."""

    def monotonic(self) -> float:
        """Return seconds on a clock that never jumps."""

    def wall(self) -> float:
        """Return Unix seconds."""

    def wait_until(self, deadline: float, stop: threading.Event) -> bool:
        """Wait for a monotonic time; return True at once when `stop` is set."""


class SystemClock:
    """The machine's clocks."""

    def monotonic(self) -> float:
        """Return seconds on a clock that never jumps."""
        return time.monotonic()

    def wall(self) -> float:
        """Return Unix seconds."""
        return time.time()

    def wait_until(self, deadline: float, stop: threading.Event) -> bool:
        """Wait for a monotonic time; return True at once when `stop` is set."""
        return stop.wait(max(deadline - time.monotonic(), 0.0))


class Deadlines:
    """Instants at start + n · interval. Those that have passed are skipped, never caught up with."""

    def __init__(self, start: float, interval_s: float) -> None:
        self._start = start
        self._interval_s = interval_s
        self._n = 0
        self.missed = 0
        """Deadlines skipped so far."""

    @property
    def current(self) -> float:
        """The deadline that is due."""
        return self._start + self._n * self._interval_s

    def advance(self, now: float) -> None:
        """Go to the first deadline after the current one that has not passed at `now`."""
        ahead = math.ceil((now - self._start) / self._interval_s - 1e-9)
        following = max(self._n + 1, ahead)
        self.missed += following - self._n - 1
        self._n = following


@dataclass(frozen=True, slots=True)
class Lateness:
    """How late ticks were, in seconds. Percentiles are worked out when asked for: that takes a sort."""

    n: int = 0
    """All ticks so far."""
    max_s: float | None = None
    """The worst of all ticks so far."""
    last: tuple[float, ...] = field(default=(), repr=False)
    """The last `KEPT_TICKS` ticks, over which percentiles are taken."""

    @property
    def p50_s(self) -> float | None:
        """The median."""
        return self._percentile(0.5)

    @property
    def p95_s(self) -> float | None:
        """What 95 % of the ticks were not later than."""
        return self._percentile(0.95)

    @property
    def p99_s(self) -> float | None:
        """What 99 % of the ticks were not later than."""
        return self._percentile(0.99)

    def _percentile(self, share: float) -> float | None:
        """Return it by nearest rank."""
        return sorted(self.last)[math.ceil(share * len(self.last)) - 1] if self.last else None


NO_LATENESS = Lateness()


class LatenessLog:
    """Collects the lateness of each tick."""

    def __init__(self) -> None:
        self._last: deque[float] = deque(maxlen=KEPT_TICKS)
        self._n = 0
        self._max_s = 0.0

    def add(self, late_s: float) -> None:
        """Count one tick."""
        self._last.append(late_s)
        self._n += 1
        self._max_s = max(self._max_s, late_s)

    def summary(self) -> Lateness:
        """Return what was noted until now; cheap, so that it can be taken under a lock."""
        return Lateness(self._n, self._max_s, tuple(self._last)) if self._n else NO_LATENESS
