"""Choosing the source of GPU readings."""

from __future__ import annotations

from collections.abc import Sequence

from kvtop.telemetry.gpu.nvidia import NvidiaSource
from kvtop.telemetry.gpu.simulated import SimulatedSource
from kvtop.telemetry.gpu.source import GpuSource


def open_source(simulator_url: str | None = None, gpus: Sequence[str] = ()) -> GpuSource:
    """Return the source to read: the simulator at `simulator_url` if given, else NVIDIA's driver.

    The driver is read through NVML; only where NVML cannot be loaded (no library, no usable Python
    bindings) and there is an nvidia-smi, through that. `gpus` keeps only GPUs with these indices or
    UUID prefixes. The driver is not touched here: whoever reads calls `open`, which raises
    GpuUnavailable (a KvtopError; `no_such_gpu` for a name in `gpus` that fits none). Raises KvtopError
    when `simulator_url` is not a loopback address.
    """
    return NvidiaSource(gpus) if simulator_url is None else SimulatedSource(simulator_url, gpus)
