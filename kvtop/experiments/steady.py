"""Waiting until memory stands still before the base is taken."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from kvtop.model.quantity import MIB
from kvtop.telemetry.sampler import Sample

WINDOW_S = 1.0
LONGEST_WAIT_S = 15.0
_TOLERANCE_BYTES = 4 * MIB
_FEWEST_SAMPLES = 3


@dataclass(frozen=True, slots=True)
class BaseWindow:
    """The idle span whose memory is the base of a run, in Unix seconds."""

    from_ts: float
    to_ts: float
    steady: bool
    """False when memory still moved after the longest wait."""


class SteadyWatch:
    """Remembers the last second of samples. `feed` is called from the sampler's thread."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, tuple[int, ...]]] = deque(maxlen=4096)

    def feed(self, sample: Sample) -> None:
        """Take note of the memory in one sample."""
        levels = [gpu.mem_used_bytes for gpu in sample.gpus if gpu.mem_used_bytes is not None]
        engine = [p.rss_bytes for p in sample.processes if p.kind == "engine" and p.rss_bytes is not None]
        if engine:
            levels.append(sum(engine))
        if levels:
            self._recent.append((sample.ts, tuple(levels)))

    async def wait(self, now: Callable[[], float], poll_s: float = 0.1) -> BaseWindow | None:
        """Return the first second in which nothing moved, or the last one after the longest wait.

        None when no memory is being sampled.
        """
        started_ts = now()
        while now() - started_ts < LONGEST_WAIT_S:
            await asyncio.sleep(poll_s)
            window = self._window(now(), started_ts)
            if window is not None and _still(window):
                return BaseWindow(window[0][0], window[-1][0], steady=True)
            if not self._recent and now() - started_ts > 2 * WINDOW_S:
                return None
        recent = list(self._recent)
        return BaseWindow(recent[-1][0] - WINDOW_S, recent[-1][0], steady=False) if recent else None

    def _window(self, now_ts: float, started_ts: float) -> list[tuple[float, tuple[int, ...]]] | None:
        if now_ts - started_ts < WINDOW_S:
            return None
        recent = [entry for entry in list(self._recent) if entry[0] >= started_ts]
        window = [entry for entry in recent if entry[0] >= now_ts - WINDOW_S]
        # Where samples are rarer than that, the last few of them make a longer window.
        enough = window if len(window) >= _FEWEST_SAMPLES else recent[-_FEWEST_SAMPLES:]
        return enough if len(enough) >= _FEWEST_SAMPLES else None


def _still(window: list[tuple[float, tuple[int, ...]]]) -> bool:
    series = zip(*(levels for _, levels in window), strict=False)
    return all(max(levels) - min(levels) <= _TOLERANCE_BYTES for levels in series)
