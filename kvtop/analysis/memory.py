"""Whose memory a length scan watched, from which base, and what each request held of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kvtop.analysis.cells import ScanPoint, cell_name, in_time_order
from kvtop.analysis.numbers import median, number, spread
from kvtop.analysis.plateau import Plateau, Window, others_moved, read_plateau
from kvtop.analysis.traces import (
    Trace,
    device_traces,
    engine_gpus,
    engine_trace,
    gpu_memory_is_held,
    others_traces,
)
from kvtop.model.record import RequestRecord
from kvtop.model.text import clean_text

if TYPE_CHECKING:
    import polars as pl

_FALLBACK_BASE_S = 5.0
_MIN_IDLE_SAMPLES = 2


@dataclass(frozen=True, slots=True)
class Place:
    """A memory that may hold the KV cache: the engine's GPUs, or its processes on the host."""

    origin: str
    """`device`, `process` or `simulated`."""
    name: str
    """The place in words, e.g. `device memory of GPU-1f`."""
    traces: tuple[Trace, ...]
    others: tuple[Trace, ...] = ()
    """GPU memory of other processes there; empty on the host and where the engine was not found on a GPU."""


@dataclass(frozen=True, slots=True)
class Watched:
    """One place during the scan: base, idle noise, the plateau of each measured request."""

    place: Place
    base_bytes: float | None
    noise_bytes: float | None
    plateaus: tuple[Plateau, ...]
    """In sending order."""
    lows: tuple[tuple[str, float], ...] = ()
    """Measured cells, and the least memory in bytes between their end and the next request's first token."""

    def rise_of(self, cell: str) -> float | None:
        """Return plateau minus base of a cell in bytes, None where it was not read."""
        found = [p.bytes for p in self.plateaus if p.cell == cell and p.bytes is not None]
        return found[-1] - self.base_bytes if found and self.base_bytes is not None else None


def find_places(gpus: pl.DataFrame, processes: pl.DataFrame, *, simulated: bool) -> tuple[Place, ...]:
    """Return the places that may hold the KV cache, the likeliest first; empty where nothing was read.

    Takes the tables of `kvtop.analysis.tables`.

    The GPUs that the engine is on; without GPUs its process. Where a host has GPUs and the engine was not
    found on one (a container hides it, or it runs on the CPU), all GPUs together and its process.
    """
    devices = device_traces(gpus)
    on_gpus = engine_gpus(processes)
    held = {uuid: trace for uuid, trace in devices.items() if uuid in on_gpus}
    rss = engine_trace(processes)
    places = []
    if devices and (held or rss is None or gpu_memory_is_held(processes)):
        chosen = held or devices
        others = others_traces(processes, chosen) if held else ()
        places.append(Place("device", _device_name(list(chosen)), tuple(chosen.values()), others))
    if rss is not None and not held:
        places.append(Place("process", "memory of the engine's process", (rss,)))
    return tuple(_origin(place, simulated=simulated) for place in places)


def watch(
    place: Place,
    points: Iterable[ScanPoint],
    requests: Sequence[RequestRecord],
    base_window: Window | None,
) -> Watched:
    """Read base, noise and plateaus of one place. Bytes; the base is the median before the first request."""
    records = in_time_order(points)
    given = base_window if base_window and _in_order(base_window) else None
    base, noise = _base(place.traces, [given, _window_before(records, requests)])
    plateaus = tuple(_read(record, place, base, given) for record in records)
    return Watched(place, base, noise, plateaus, tuple(_lows(place.traces, records, requests)))


def void_shadowed(watched: Watched, requests: Sequence[RequestRecord]) -> Watched:
    """Void the plateaus that stand on memory kept from an earlier, longer request.

    Only for an allocator that gives nothing back, and only when lengths do not ascend.
    """
    longest_before: dict[str, float] = {}
    longest = 0.0
    own: dict[str, float] = {}
    for record in sorted(requests, key=lambda r: number(r.ts) or 0.0):
        name = cell_name(record)
        longest_before[name] = longest
        own[name] = number(record.prompt_tokens) or 0.0
        longest = max(longest, own[name])
    kept = tuple(
        replace(p, bytes=None, void="shadowed")
        if p.bytes is not None and own.get(p.cell, 0.0) * 1.02 < longest_before.get(p.cell, 0.0)
        else p
        for p in watched.plateaus
    )
    return replace(watched, plateaus=kept)


def _device_name(uuids: Sequence[str]) -> str:
    return (
        f"device memory of {clean_text(uuids[0], 60)}"
        if len(uuids) == 1
        else f"device memory of {len(uuids)} GPUs"
    )


def _origin(place: Place, *, simulated: bool) -> Place:
    if simulated or any(trace.simulated for trace in place.traces):
        return replace(place, origin="simulated", name=f"SIMULATED {place.name}")
    return place


def _read(record: RequestRecord, place: Place, base: float | None, base_window: Window | None) -> Plateau:
    plateau = read_plateau(record, place.traces)
    if plateau.bytes is None:
        return plateau
    if base is None:
        return replace(plateau, bytes=None, void="no_base")
    if others_moved(record, place.others, base_window):
        return replace(plateau, bytes=None, void="others_moved")
    return plateau


def _base(traces: Sequence[Trace], windows: Iterable[Window | None]) -> tuple[float | None, float | None]:
    for window in windows:
        idle = _idle(traces, window) if window else []
        if idle:
            return sum(median(values) or 0.0 for values in idle), sum(
                spread(values) or 0.0 for values in idle
            )
    return None, None


def _idle(traces: Sequence[Trace], window: Window) -> list[list[float]]:
    """Return the samples of each trace in the window; nothing where one has fewer than two."""
    idle = [trace.between(*window).values() for trace in traces]
    return idle if min(map(len, idle), default=0) >= _MIN_IDLE_SAMPLES else []


def _in_order(window: Window) -> bool:
    start, end = number(window[0]), number(window[1])
    return start is not None and end is not None and start <= end


def _window_before(records: Sequence[RequestRecord], requests: Iterable[RequestRecord]) -> Window | None:
    """Return the idle time before the first measured request, at most 5 s of it."""
    first = number(records[0].ts) if records else None
    if first is None:
        return None
    ends = [number(r.end_ts) for r in requests if (number(r.ts) or first) < first]
    return max([first - _FALLBACK_BASE_S, *(end for end in ends if end is not None and end < first)]), first


def _lows(
    traces: Sequence[Trace], records: Sequence[RequestRecord], requests: Iterable[RequestRecord]
) -> Iterator[tuple[str, float]]:
    """Yield what each request left in memory. An idle pause is not needed: prefill begins low too."""
    sent = sorted((ts, number(r.ttft_s) or 0.0) for r in requests if (ts := number(r.ts)) is not None)
    for record in records:
        end = number(record.end_ts)
        if end is None:
            continue
        until = next((ts + ttft for ts, ttft in sent if ts >= end), end + _FALLBACK_BASE_S)
        idle = _idle(traces, (end, until))
        if idle:
            yield cell_name(record), sum(map(min, idle))
