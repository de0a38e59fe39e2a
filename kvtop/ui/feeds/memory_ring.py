"""The last five minutes of each GPU's memory, one point a second."""

from __future__ import annotations

from collections import deque
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    Point = float | None

POINTS = 300
"""Points kept: five minutes."""


class MemoryRing:
    """Peaks by second and GPU. A second without a sample repeats the one before once, then is a gap."""

    def __init__(self, points: int = POINTS) -> None:
        self._points = points
        self._rings: dict[str, deque[Point]] = {}
        self._open: dict[int, dict[str, Point]] = {}
        self._last: dict[str, Point] = {}
        self._closed_s: int | None = None
        self._picture: Mapping[str, tuple[Point, ...]] = MappingProxyType({})

    def add(self, second: int, fractions: Mapping[str, Point]) -> None:
        """Note the fractions of memory in use of one sample, by UUID; None for a GPU without a value."""
        peaks = self._open.setdefault(second, {})
        for uuid, fraction in fractions.items():
            known = peaks.get(uuid)
            peaks[uuid] = fraction if known is None or (fraction or 0.0) > known else known

    def close(self, newest_s: int) -> Mapping[str, tuple[Point, ...]]:
        """Return all points up to the Unix second `newest_s`, which is over; the same object if none came."""
        if self._closed_s is None:
            self._closed_s = min(self._open, default=newest_s + 1) - 1
        if newest_s < self._closed_s - 1:  # the host's clock was set back
            self._closed_s = newest_s
        if newest_s <= self._closed_s:
            return self._picture
        if newest_s - self._closed_s > self._points:
            self._last = {}
        for second in range(max(self._closed_s, newest_s - self._points) + 1, newest_s + 1):
            self._append(self._open.get(second, {}))
        self._closed_s = newest_s
        self._open = {second: peaks for second, peaks in self._open.items() if second > newest_s}
        self._picture = MappingProxyType({uuid: tuple(ring) for uuid, ring in self._rings.items()})
        return self._picture

    def _append(self, peaks: Mapping[str, Point]) -> None:
        for uuid in peaks:
            self._rings.setdefault(uuid, deque(maxlen=self._points))
        for uuid, ring in self._rings.items():
            ring.append(peaks[uuid] if uuid in peaks else self._last.get(uuid))
        self._last = dict(peaks)
