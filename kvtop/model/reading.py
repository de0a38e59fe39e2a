"""Readings of GPUs and processes. A field that is not there is None and has its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

NO_FAULTS: Mapping[str, str] = MappingProxyType({})
NO_AGES: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class GpuDevice:
    """A GPU as identified at start. `uuid` is its identity, `index` only its place in the list."""

    index: int
    uuid: str
    name: str
    bus_id: str | None = None
    parent_uuid: str | None = None
    """The GPU that this MIG slice is part of; `index` is then that GPU's."""
    slice_index: int | None = None
    """The place of a MIG slice within its GPU."""
    mig: bool = False
    """Whether this GPU is cut into MIG slices, which follow it in the list."""


@dataclass(frozen=True, slots=True)
class GpuReading:
    """One GPU at one instant. Fields of slower tiers repeat their last value; see `ages_s`."""

    ts: float
    """Unix time of the memory reading, in seconds."""
    device: GpuDevice
    mem_used_bytes: int | None = None
    mem_total_bytes: int | None = None
    util_pct: float | None = None
    """Share of the driver's last period (1/6 s to 1 s) with a kernel running."""
    mem_bw_util_pct: float | None = None
    """Share of that period with memory traffic: bandwidth time, not fullness."""
    power_w: float | None = None
    temp_c: float | None = None
    sm_clock_mhz: int | None = None
    throttle_reasons: int | None = None
    """NVML's clocks event reasons bit mask."""
    late_s: float = 0.0
    """How late the reading was taken against its deadline, in seconds."""
    ages_s: Mapping[str, float] = field(default_factory=lambda: NO_AGES)
    """Age of each field that was not read just now, in seconds, by field name."""
    faults: Mapping[str, str] = field(default_factory=lambda: NO_FAULTS)
    """Why a field is None, in words, by field name; `device` when the whole GPU is lost."""
    source: str = "nvml"
    """`nvml`, `nvidia-smi` or `simulated`; `nvml-processes` where `mem_used_bytes` is the sum of the
    processes' memory, because the device itself tells none."""
    unified: bool = False
    """Whether the GPU shares the host's memory, so that it has no total of its own."""
    lost_ts: float | None = None
    """Since when the whole GPU is lost, in Unix seconds."""


@dataclass(frozen=True, slots=True)
class ProcessReading:
    """One process that holds GPU memory, or the engine's process tree on the host."""

    ts: float
    pid: int
    name: str | None
    kind: str
    """`engine` for the watched engine and its children, else `other`; `unknown` where the driver's pids
    belong to another namespace, as in most containers, so that a process here may be another one."""
    uuid: str | None = None
    """The GPU that `gpu_mem_bytes` is on."""
    gpu_mem_bytes: int | None = None
    rss_bytes: int | None = None
    source: str = "psutil"
    """`nvml`, `psutil` or `simulated`."""
