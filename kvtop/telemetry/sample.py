"""What one tick of the sampler brings, and how the sampler is doing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kvtop.model.failure import Failure
from kvtop.model.reading import GpuDevice, GpuReading, ProcessReading
from kvtop.telemetry.clock import NO_LATENESS, Lateness

SamplerState = Literal["new", "opening", "waiting", "running", "hanging", "stopped", "failed"]
"""`waiting`: nothing to read yet, it will be tried again; `hanging`: a driver call has not returned for
long; `failed`: no more samples will come, see `failure`."""


@dataclass(frozen=True, slots=True)
class Sample:
    """All readings of one tick."""

    ts: float
    """Unix time of the tick's start, in seconds; each GPU has its own `ts` besides."""
    gpus: tuple[GpuReading, ...]
    processes: tuple[ProcessReading, ...]
    """The engine's processes at each tick; GPU processes only when they were just read."""
    process_lists: tuple[str, ...] = ()
    """UUIDs of the GPUs whose process list was read in this tick, empty lists included."""
    host_available_bytes: int | None = None
    """Memory that the host could still give, told only where a GPU shares it."""


@dataclass(frozen=True, slots=True)
class SamplerStatus:
    """How the sampler is doing, at the moment of asking."""

    state: SamplerState
    failures: tuple[Failure, ...] = ()
    """What is wrong, the most important first: the sampler itself, the GPUs, the engine's processes."""
    devices: tuple[GpuDevice, ...] = ()
    last_ts: float | None = None
    """Unix time of the last tick."""
    age_s: float | None = None
    """Time since the last tick began, in seconds."""
    lateness: Lateness = NO_LATENESS
    missed: int = 0
    """Deadlines that passed while the tick before was still busy."""
    notes: tuple[Failure, ...] = ()
    """What is read, but not as well as it could be, and why: nvidia-smi in place of NVML."""
    retry_in_s: float | None = None
    """Time until the GPUs are looked for again, in seconds; None where they were found or will not be."""

    @property
    def failure(self) -> Failure | None:
        """The most important failure."""
        return self.failures[0] if self.failures else None
