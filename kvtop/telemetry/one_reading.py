"""A single reading of everything, for a command that looks once and leaves."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from kvtop.model.failure import Failure
from kvtop.model.reading import GpuReading, ProcessReading
from kvtop.telemetry.clock import SystemClock
from kvtop.telemetry.collector import Collector
from kvtop.telemetry.gpu.source import GpuSource
from kvtop.telemetry.health import driver_hangs, unexpected


@dataclass(frozen=True, slots=True)
class Reading:
    """What one look at this host brought."""

    gpus: tuple[GpuReading, ...] = ()
    processes: tuple[ProcessReading, ...] = ()
    failures: tuple[Failure, ...] = ()
    """Why something is missing, GPUs first."""
    notes: tuple[Failure, ...] = ()
    """What was read, but not as well as it could be."""
    host_available_bytes: int | None = None
    """Memory that the host could still give, told only where a GPU shares it."""

    @property
    def failure(self) -> Failure | None:
        """The most important failure."""
        return self.failures[0] if self.failures else None


def read_once(source: GpuSource, *, engine_pid: int | None = None, timeout_s: float = 5.0) -> Reading:
    """Return all fields of all GPUs, their processes and the engine's memory; raises nothing.

    The driver is asked in a daemon thread: when it has not answered after `timeout_s` the failure is
    `driver_hangs` and the call is left behind.
    """
    look = _Look(source, engine_pid)
    look.start()
    look.join(timeout_s)
    return look.reading or Reading(failures=(driver_hangs(timeout_s),))


class _Look(threading.Thread):
    def __init__(self, source: GpuSource, engine_pid: int | None) -> None:
        super().__init__(name="kvtop-one-reading", daemon=True)
        self.reading: Reading | None = None
        self._clock = SystemClock()
        self._collector = Collector(
            source, self._clock, engine_pid=engine_pid, interval_s=1.0, process_interval_s=1.0
        )

    def run(self) -> None:
        """Open, read and close."""
        try:
            self.reading = self._look()
        except Exception as error:  # noqa: BLE001 - the thread's end: told in the reading, not on the screen
            self.reading = Reading(failures=(unexpected(error),))

    def _look(self) -> Reading:
        collector = self._collector
        try:
            collector.open()
            sample = collector.collect(self._clock.monotonic(), everything=True)
        finally:
            collector.close()
        return Reading(
            sample.gpus, sample.processes, collector.failures, collector.notes, sample.host_available_bytes
        )
