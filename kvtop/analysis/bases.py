"""What memory held while idle: one base for each session of a run, and of which engine process it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from kvtop.analysis.numbers import median, number, spread
from kvtop.analysis.traces import EngineSeen, Trace
from kvtop.model.quantity import MIB
from kvtop.model.record import RequestRecord

Window = tuple[float, float]
"""From, to: Unix seconds."""

LISTING_S = 2.5
"""The processes of a GPU are listed each 2 s: look for one this far around a span."""
FELL_BYTES = 64 * MIB
"""An idle engine that holds so much less than at an earlier base is not the same, or gave memory back."""
_MIN_IDLE_SAMPLES = 2
_LONGEST_IDLE_S = 5.0


@dataclass(frozen=True, slots=True)
class Base:
    """The idle memory of one session."""

    window: Window
    bytes: float
    """Median of the samples, summed over the traces."""
    noise_bytes: float = 0.0
    """Width of the middle 90 % of the samples, summed over the traces."""
    pids: frozenset[int] = frozenset()
    """The engine's processes then; empty where they are not known."""
    life: int = 0
    """Which of the engine's lives it is from, counted from 0: a restarted engine begins another."""

    def to_json(self) -> dict[str, Any]:
        """Return the base as an entry of `memory.bases` of `kvtop.scan/1`."""
        return {
            "from_ts": self.window[0],
            "to_ts": self.window[1],
            "base_bytes": round(self.bytes),
            "noise_bytes": round(self.noise_bytes),
            "engine_pids": sorted(self.pids),
            "engine_life": self.life,
        }


def read_bases(traces: Sequence[Trace], seen: EngineSeen, windows: Iterable[Window]) -> tuple[Base, ...]:
    """Return the bases of the windows that hold samples, in time order.

    A base is from another life of the engine than the one before it when no process is left of those
    seen then, or when it holds far less: an allocator that keeps memory does not fall below its base.
    """
    bases: list[Base] = []
    for window in sorted(filter(_in_order, windows)):
        idle = idle_samples(traces, window)
        if not idle:
            continue
        held, noise = (sum(of(values) or 0.0 for values in idle) for of in (median, spread))
        pids = pids_around(seen, window)
        bases.append(Base(window, held, noise, pids, _life(bases, held, pids)))
    return tuple(bases)


def base_of(bases: Sequence[Base], sent_ts: float | None, pids: frozenset[int]) -> Base | None:
    """Return the newest base that ended before a request and is of the engine process that decoded it.

    `pids` are those of its decode. A base of unknown processes is taken at its word.
    """
    if sent_ts is None:
        return None
    for base in reversed(bases):
        if base.window[1] <= sent_ts and (not base.pids or base.pids & pids):
            return base
    return None


def restarts(bases: Sequence[Base]) -> Iterator[tuple[Base, Base]]:
    """Yield the last base of each life of the engine and the first of the next."""
    for before, after in pairwise(bases):
        if before.life != after.life:
            yield before, after


def pids_around(seen: EngineSeen, window: Window) -> frozenset[int]:
    """Return the engine's processes in a window, or near it where it holds no listing."""
    start, end = window
    return seen.between(start, end) or seen.between(start - LISTING_S, end + LISTING_S)


def idle_samples(traces: Sequence[Trace], window: Window) -> list[Sequence[float]]:
    """Return the samples of each trace in the window; nothing where one has fewer than two."""
    idle: list[Sequence[float]] = [trace.between(*window).bytes for trace in traces]
    return idle if min(map(len, idle), default=0) >= _MIN_IDLE_SAMPLES else []


def window_before(first: RequestRecord, requests: Iterable[RequestRecord]) -> Window | None:
    """Return the idle time before a request, at most 5 s of it."""
    sent = number(first.ts)
    if sent is None:
        return None
    ends = [number(r.end_ts) for r in requests if (number(r.ts) or sent) < sent]
    return max([sent - _LONGEST_IDLE_S, *(end for end in ends if end is not None and end < sent)]), sent


def _life(earlier: Sequence[Base], held: float, pids: frozenset[int]) -> int:
    if not earlier:
        return 0
    last = earlier[-1]
    fell = last.bytes - held > max(FELL_BYTES, 2 * last.noise_bytes)
    return last.life + (fell or _other_process(last.pids, pids))


def _other_process(before: frozenset[int], after: frozenset[int]) -> bool:
    """Return whether an engine is known to have changed its process."""
    return bool(before and after and not before & after)


def _in_order(window: Window) -> bool:
    start, end = number(window[0]), number(window[1])
    return start is not None and end is not None and start <= end
