"""What a source of GPU readings has to offer, and how it says what it cannot read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from kvtop.model.failure import Failure, KvtopError
from kvtop.model.reading import GpuDevice

Values = Mapping[str, float]
"""Readings by field name of `GpuReading`, in that field's unit, and `AGE` where they are older."""

AGE = "age_s"
"""Key of the age of an answer that was taken before the question, in seconds."""


@dataclass(frozen=True, slots=True)
class Query:
    """One question to the driver: its fields are read, fail and age together."""

    name: str
    fields: tuple[str, ...]
    every_s: float
    """Shortest time between two such questions about one GPU, in seconds; 0 means each tick."""


MEMORY = Query("memory", ("mem_used_bytes", "mem_total_bytes"), 0.0)
UTILIZATION = Query("utilization", ("util_pct", "mem_bw_util_pct"), 0.2)
POWER = Query("power", ("power_w",), 1.0)
TEMPERATURE = Query("temperature", ("temp_c",), 1.0)
SM_CLOCK = Query("sm_clock", ("sm_clock_mhz",), 1.0)
THROTTLE = Query("throttle", ("throttle_reasons",), 1.0)
SLOW_QUERIES = (UTILIZATION, POWER, TEMPERATURE, SM_CLOCK, THROTTLE)


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """One process as the driver lists it."""

    pid: int
    gpu_mem_bytes: int | None = None
    """None where the driver does not tell sizes (WSL, MIG, vGPU)."""
    name: str | None = None


class GpuUnavailable(KvtopError):  # noqa: N818 - a state of the machine, as are the two below
    """A source cannot be opened at all; carries the failure that says why."""


class FieldMissing(Exception):  # noqa: N818 - as above
    """One query of one GPU has no answer. The message is the reason, in words."""

    def __init__(self, reason: str, *, permanent: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.permanent = permanent
        """Whether this card or driver will not answer it later either."""


class UnifiedMemory(FieldMissing):
    """The GPU shares the host's memory and tells neither a total nor what is used of it."""

    def __init__(self) -> None:
        super().__init__("unified: this GPU shares the host's memory and has no total", permanent=True)


class DeviceLost(Exception):  # noqa: N818 - as above
    """A GPU answers nothing any more. The message is the reason, in words."""

    def __init__(self, reason: str, failure: Failure | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.failure = failure
        """What broke, where it is the source itself and not one GPU."""


class GpuSource(Protocol):
    """Readings of the GPUs of this host. All calls come from one thread; each may block in a driver."""

    @property
    def name(self) -> str:
        """`nvml`, `nvidia-smi`, `simulated` or `none`; settled by `open`."""

    def open(self) -> tuple[GpuDevice, ...]:
        """Connect and identify the GPUs. Raises GpuUnavailable; may then be called again."""

    def refresh(self) -> None:
        """Mark the start of a tick, for sources that fetch all GPUs at once. Raises nothing."""

    def read(self, device: GpuDevice, query: Query) -> Values:
        """Return the fields of `query`. Raises FieldMissing or DeviceLost."""

    def processes(self, device: GpuDevice) -> tuple[GpuProcess, ...]:
        """Return the processes that hold memory of `device`. Raises FieldMissing or DeviceLost."""

    def recover(self, device: GpuDevice) -> GpuDevice:
        """Find a lost GPU again and return it, identified anew. Raises DeviceLost."""

    def close(self) -> None:
        """Let go of the driver. Never called while another call is inside. Raises nothing."""


@runtime_checkable
class ChangingSource(GpuSource, Protocol):
    """A source whose GPUs may become more, or turn into MIG slices, while it is open."""

    def list_again(self) -> tuple[GpuDevice, ...] | None:
        """Return the GPUs there are now, lost ones included, None for no change. Raises nothing."""


@runtime_checkable
class SubstituteSource(GpuSource, Protocol):
    """A source that may have to read through something worse than it should."""

    @property
    def note(self) -> Failure | None:
        """What is read instead and why; None when all is as it should be."""


def select_devices(devices: Sequence[GpuDevice], wanted: Sequence[str]) -> tuple[GpuDevice, ...]:
    """Return the devices that `wanted` names by index or by UUID prefix; all of them when it is empty.

    Raises GpuUnavailable with the code `no_such_gpu` for a name that fits none.
    """
    unknown = [name for name in wanted if not any(_fits(device, name) for device in devices)]
    if unknown:
        there = ", ".join(f"{device.index} ({device.uuid})" for device in devices)
        raise GpuUnavailable(
            Failure.of("no_such_gpu", f"There is no GPU {unknown[0]!r}.", f"GPUs here: {there or 'none'}.")
        )
    return wanted_devices(devices, wanted)


def wanted_devices(devices: Sequence[GpuDevice], wanted: Sequence[str]) -> tuple[GpuDevice, ...]:
    """Return the devices that `wanted` names, all of them when it is empty."""
    if not wanted:
        return tuple(devices)
    return tuple(device for device in devices if any(_fits(device, name) for name in wanted))


def _fits(device: GpuDevice, name: str) -> bool:
    if name.isdecimal():
        return device.index == int(name)
    return bool(name) and device.uuid.lower().startswith(name.lower())
