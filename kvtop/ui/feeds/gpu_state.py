"""What the samples of a sampler add up to: written by its thread, read by the one that tells the app."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING

from kvtop.ui.feeds.memory_ring import MemoryRing
from kvtop.ui.messages import GpuSnapshot

if TYPE_CHECKING:
    from kvtop.model.reading import GpuReading, ProcessReading
    from kvtop.telemetry.sample import Sample, SamplerStatus


class GpuState:
    """The newest readings, the process lists of all GPUs, the history and the base of each GPU."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readings: tuple[GpuReading, ...] = ()
        self._engine: tuple[ProcessReading, ...] = ()
        self._listed: dict[str, tuple[ProcessReading, ...]] = {}
        self._base: dict[str, int] = {}
        self._ring = MemoryRing()

    def add(self, sample: Sample) -> None:
        """Take in one sample."""
        with self._lock:
            self._readings = sample.gpus
            self._engine = tuple(process for process in sample.processes if process.uuid is None)
            self._keep_lists(sample)
            fractions = {}
            for reading in sample.gpus:
                if reading.mem_used_bytes is not None:
                    self._base.setdefault(reading.device.uuid, reading.mem_used_bytes)
                fractions[reading.device.uuid] = _fraction(reading)
            self._ring.add(int(sample.ts), fractions)

    def rebase(self) -> None:
        """Take the next reading of each GPU as the base that changes are told against."""
        with self._lock:
            self._base = {}

    def snapshot(self, status: SamplerStatus, now_ts: float) -> GpuSnapshot:
        """Return everything as of the Unix time `now_ts`; the history ends with the last whole second."""
        with self._lock:
            listed = (process for processes in self._listed.values() for process in processes)
            return GpuSnapshot(
                self._readings,
                (*self._engine, *listed),
                status,
                self._ring.close(int(now_ts) - 1),
                dict(self._base),
            )

    def _keep_lists(self, sample: Sample) -> None:
        """Replace the lists that were just read; drop those that the driver no longer tells."""
        for uuid in sample.process_lists:
            self._listed[uuid] = tuple(process for process in sample.processes if process.uuid == uuid)
        for reading in sample.gpus:
            if reading.faults.keys() & {"device", "processes"}:
                self._listed.pop(reading.device.uuid, None)


def _fraction(reading: GpuReading) -> float | None:
    total = _host_bytes() if reading.unified else reading.mem_total_bytes
    return reading.mem_used_bytes / total if reading.mem_used_bytes is not None and total else None


@cache
def _host_bytes() -> int:
    import psutil  # late: after the first paint

    return int(psutil.virtual_memory().total)
