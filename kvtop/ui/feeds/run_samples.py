"""The samples of a live run as the snapshots that the GPU panel draws."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kvtop.runs.disk import open_regular
from kvtop.telemetry.clock import LatenessLog
from kvtop.telemetry.sample import SamplerStatus
from kvtop.ui.feeds.line_tail import LineTail
from kvtop.ui.feeds.sample_rows import gpu_readings, process_readings
from kvtop.ui.messages import GpuSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from kvtop.model.reading import GpuReading, ProcessReading
    from kvtop.runs.layout import RunFolder

HISTORY_S = 300
_OPENING_BYTES = 2 << 20
_HEAD_BYTES = 64 << 10
_PROCESSES_S = 5.0
"""A process that was not listed for so long, in seconds, has ended: lists are read every 2 s."""


class RunSamples:
    """Follows `gpu.csv` and `processes.csv` of one run."""

    def __init__(self, folder: RunFolder, *, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        self._gpu_tail = LineTail(folder.gpu_csv, _OPENING_BYTES)
        self._process_tail = LineTail(folder.processes_csv, _HEAD_BYTES)
        self._latest: dict[str, GpuReading] = {}
        self._processes: dict[tuple[int, str | None], ProcessReading] = {}
        self._base_bytes: dict[str, int] = {}
        self._fractions: dict[str, dict[int, float | None]] = {}
        self._lateness = LatenessLog()

    def snapshot(self, names: Mapping[str, str]) -> GpuSnapshot | None:
        """Return the newest samples, None without any of a GPU. Raises KvtopError `unreadable_run`."""
        rows = self._process_tail.read().lines
        self._take_processes(process_readings(rows))
        lines = self._gpu_tail.read().lines
        if not lines and not rows:
            return None
        if not self._base_bytes:
            self._base_bytes = _base_bytes(self._folder.gpu_csv)
        for reading in gpu_readings(lines, names):
            self._take(reading)
        return self._snapshot() if self._latest else None

    def _take(self, reading: GpuReading) -> None:
        uuid = reading.device.uuid
        self._latest[uuid] = reading
        self._lateness.add(reading.late_s)
        seconds = self._fractions.setdefault(uuid, {})
        fraction, second = _fraction(reading), int(reading.ts)
        known = seconds.get(second)
        seconds[second] = fraction if known is None else max(known, fraction or 0.0)
        while len(seconds) > HISTORY_S:
            del seconds[next(iter(seconds))]

    def _take_processes(self, readings: Iterable[ProcessReading]) -> None:
        for reading in readings:
            self._processes[reading.pid, reading.uuid] = reading
        newest_ts = max((reading.ts for reading in self._processes.values()), default=0.0)
        for key, reading in list(self._processes.items()):
            if reading.ts < newest_ts - _PROCESSES_S:
                del self._processes[key]

    def _snapshot(self) -> GpuSnapshot:
        readings = tuple(sorted(self._latest.values(), key=lambda reading: reading.device.index))
        last_ts = max((reading.ts for reading in readings), default=None)
        age_s = None if last_ts is None else max(self._clock() - last_ts, 0.0)
        devices = tuple(reading.device for reading in readings)
        lateness = self._lateness.summary()
        return GpuSnapshot(
            readings=readings,
            processes=tuple(self._processes.values()),
            status=SamplerStatus("running", (), devices, last_ts, age_s, lateness),
            history={uuid: _each_second(seconds) for uuid, seconds in self._fractions.items()},
            base_bytes=dict(self._base_bytes),
        )


def _fraction(reading: GpuReading) -> float | None:
    if reading.mem_used_bytes is None or not reading.mem_total_bytes:
        return None
    return reading.mem_used_bytes / reading.mem_total_bytes


def _each_second(seconds: Mapping[int, float | None]) -> tuple[float | None, ...]:
    """Return one value a second up to the last one; a second without a reading is None."""
    if not seconds:
        return ()
    last = max(seconds)
    first = max(min(seconds), last - HISTORY_S + 1)
    return tuple(seconds.get(second) for second in range(first, last + 1))


def _base_bytes(path: Path) -> dict[str, int]:
    """Return what each GPU held at its first reading: before the first request."""
    try:
        with open_regular(path) as file:
            lines = file.read(_HEAD_BYTES).split(b"\n")[:-1]
    except OSError:
        return {}
    base: dict[str, int] = {}
    for reading in gpu_readings(lines, {}):
        if reading.mem_used_bytes is not None:
            base.setdefault(reading.device.uuid, reading.mem_used_bytes)
    return base
