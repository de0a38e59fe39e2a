"""Whose memory a length scan watched, from which bases, and what each request held of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kvtop.analysis.bases import (
    Base,
    Window,
    base_of,
    idle_samples,
    pids_around,
    read_bases,
    window_before,
)
from kvtop.analysis.cells import ScanPoint, cell_name, in_time_order
from kvtop.analysis.numbers import number
from kvtop.analysis.plateau import Plateau, decode_window, others_moved, read_plateau
from kvtop.analysis.traces import (
    EngineSeen,
    Trace,
    device_traces,
    engine_gpus,
    engine_seen,
    engine_trace,
    gpu_memory_is_held,
    others_traces,
)
from kvtop.model.record import RequestRecord
from kvtop.model.text import clean_text

if TYPE_CHECKING:
    import polars as pl

_LOOK_AFTER_S = 5.0
"""How long after a request what it left in memory is looked for; the next session may be hours later."""


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
    seen: EngineSeen = field(default_factory=EngineSeen)
    """Which processes were the engine's when."""


@dataclass(frozen=True, slots=True)
class Watched:
    """One place during the scan: its bases, the plateau of each measured request."""

    place: Place
    bases: tuple[Base, ...]
    """In time order, one for each session in which idle memory was read."""
    plateaus: tuple[Plateau, ...]
    """In sending order."""
    lows: tuple[tuple[str, float], ...] = ()
    """Measured cells, and the least memory in bytes between their end and the next request's first token."""

    @property
    def base(self) -> Base | None:
        """The base of the newest request that has one."""
        used = [plateau.base for plateau in self.plateaus if plateau.base is not None]
        return used[-1] if used else next(iter(self.bases[-1:]), None)

    @property
    def base_bytes(self) -> float | None:
        """Idle memory before the newest requests."""
        return None if self.base is None else self.base.bytes

    @property
    def noise_bytes(self) -> float | None:
        """What idle memory does by itself, at its worst."""
        return max((base.noise_bytes for base in self.bases), default=None)


def find_places(gpus: pl.DataFrame, processes: pl.DataFrame, *, simulated: bool) -> tuple[Place, ...]:
    """Return the places that may hold the KV cache, the likeliest first; empty where nothing was read.

    Takes the tables of `kvtop.analysis.tables`.

    The GPUs that the engine is on; without GPUs its process. Where a host has GPUs and the engine was not
    found on one (a container hides it, or it runs on the CPU), all GPUs together and its process.
    """
    on_gpus = engine_gpus(processes)
    held = device_traces(gpus, on_gpus) if on_gpus else {}
    devices = held or device_traces(gpus)
    rss = engine_trace(processes)
    places = []
    if devices and (held or rss is None or gpu_memory_is_held(processes)):
        others = others_traces(processes, held)
        places.append(Place("device", _device_name(list(devices)), tuple(devices.values()), others))
    if rss is not None and not held:
        places.append(Place("process", "memory of the engine's process", (rss,)))
    seen = engine_seen(processes)
    return tuple(_origin(replace(place, seen=seen), simulated=simulated) for place in places)


def watch(
    place: Place,
    points: Iterable[ScanPoint],
    requests: Sequence[RequestRecord],
    base_windows: Iterable[Window],
) -> Watched:
    """Read bases and plateaus of one place.

    Each request counts from the newest base of its engine process. Where none of `base_windows` with
    samples lies before the first request, the idle time before that is one more.
    """
    records = in_time_order(points)
    bases = read_bases(place.traces, place.seen, base_windows)
    sent_first = number(records[0].ts) if records else None
    if sent_first is not None and not any(base.window[1] <= sent_first for base in bases):
        before = window_before(records[0], requests)
        windows = [base.window for base in bases] + ([before] if before else [])
        bases = read_bases(place.traces, place.seen, windows)
    plateaus = tuple(_read(record, place, bases) for record in records)
    return Watched(place, bases, plateaus, tuple(_lows(place.traces, records, requests)))


def from_first_bases(watched: Watched) -> Watched:
    """Count from the first base of each engine process: what an allocator keeps is in the later ones."""
    first = {base.life: base for base in reversed(watched.bases)}
    plateaus = (replace(p, base=first[p.base.life]) if p.base else p for p in watched.plateaus)
    return replace(watched, plateaus=tuple(plateaus))


def void_shadowed(watched: Watched, requests: Sequence[RequestRecord]) -> Watched:
    """Void the plateaus that stand on memory kept from an earlier, longer request of the same process.

    Only for an allocator that gives nothing back, and only when lengths do not ascend.
    """
    longest_before: dict[str, float] = {}
    longest: dict[int, float] = {}
    own: dict[str, float] = {}
    for record in sorted(requests, key=lambda r: number(r.ts) or 0.0):
        name, life = cell_name(record), _life_at(watched.bases, record)
        longest_before[name] = longest.get(life, 0.0)
        own[name] = number(record.prompt_tokens) or 0.0
        longest[life] = max(longest.get(life, 0.0), own[name])
    kept = tuple(
        replace(p, void="shadowed")
        if p.rise_bytes is not None and own.get(p.cell, 0.0) * 1.02 < longest_before.get(p.cell, 0.0)
        else p
        for p in watched.plateaus
    )
    return replace(watched, plateaus=kept)


def _life_at(bases: Iterable[Base], record: RequestRecord) -> int:
    sent = number(record.ts) or 0.0
    return max((base.life for base in bases if base.window[1] <= sent), default=0)


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


def _read(record: RequestRecord, place: Place, bases: Sequence[Base]) -> Plateau:
    plateau, window = read_plateau(record, place.traces), decode_window(record)
    if plateau.void or window is None:
        return plateau
    base = base_of(bases, number(record.ts), pids_around(place.seen, window))
    if base is None:
        return replace(plateau, void="no_base")
    if others_moved(record, place.others, base.window):
        return replace(plateau, base=base, void="others_moved")
    return replace(plateau, base=base)


def _lows(
    traces: Sequence[Trace], records: Sequence[RequestRecord], requests: Iterable[RequestRecord]
) -> Iterator[tuple[str, float]]:
    """Yield what each request left in memory. An idle pause is not needed: prefill begins low too."""
    sent = sorted((ts, number(r.ttft_s) or 0.0) for r in requests if (ts := number(r.ts)) is not None)
    for record in records:
        end = number(record.end_ts)
        if end is None:
            continue
        following = bisect_left(sent, (end,))
        ts, ttft = sent[following] if following < len(sent) else (end + _LOOK_AFTER_S, 0.0)
        idle = idle_samples(traces, (end, ts + ttft if ts - end <= _LOOK_AFTER_S else end + _LOOK_AFTER_S))
        if idle:
            yield cell_name(record), sum(map(min, idle))
