"""A source whose answers a test writes down, for the sampler's own logic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from kvtop.model.failure import Failure
from kvtop.model.reading import GpuDevice
from kvtop.telemetry.gpu.source import GpuProcess, GpuUnavailable, Query, Values

VALUES = {
    "mem_used_bytes": 10,
    "mem_total_bytes": 100,
    "util_pct": 50.0,
    "mem_bw_util_pct": 20.0,
    "power_w": 300.0,
    "temp_c": 60.0,
    "sm_clock_mhz": 1980,
    "throttle_reasons": 0,
}


class ScriptedSource:
    """`before_read` may raise or pass time; the count of reads is by query and GPU index."""

    name = "scripted"

    def __init__(self, gpus: int = 1, before_read: Callable[[GpuDevice, Query], None] | None = None) -> None:
        self.devices = tuple(GpuDevice(i, f"GPU-{i}", f"GPU {i}") for i in range(gpus))
        self.before_read = before_read
        self.reads: Counter[tuple[str, int]] = Counter()
        self.listed: tuple[GpuProcess, ...] = ()
        self.closed = 0

    def open(self) -> tuple[GpuDevice, ...]:
        if not self.devices:
            raise GpuUnavailable(Failure("no_gpu", "There is none."))
        return self.devices

    def refresh(self) -> None:
        pass

    def read(self, device: GpuDevice, query: Query) -> Values:
        self.reads[query.name, device.index] += 1
        if self.before_read:
            self.before_read(device, query)
        return {field: VALUES[field] for field in query.fields}

    def processes(self, device: GpuDevice) -> tuple[GpuProcess, ...]:
        self.reads["processes", device.index] += 1
        return self.listed

    def recover(self, device: GpuDevice) -> GpuDevice:
        return device

    def close(self) -> None:
        self.closed += 1
