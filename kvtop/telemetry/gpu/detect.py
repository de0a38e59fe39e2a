"""Choosing the source of GPU readings."""

from __future__ import annotations

from collections.abc import Sequence

from kvtop.telemetry.gpu.none import NoGpu
from kvtop.telemetry.gpu.nvml import NvmlSource, load_bindings
from kvtop.telemetry.gpu.simulated import SimulatedSource
from kvtop.telemetry.gpu.source import GpuSource, GpuUnavailable


def open_source(simulator_url: str | None = None, gpus: Sequence[str] = ()) -> GpuSource:
    """Return the source to read: the simulator at `simulator_url` if given, else NVML, else none.

    `gpus` keeps only GPUs with these indices or UUID prefixes. The driver is not touched here:
    whoever reads calls `open`, which raises GpuUnavailable (a KvtopError; `no_such_gpu` for a name
    in `gpus` that fits none). Raises KvtopError when `simulator_url` is not a loopback address.
    """
    if simulator_url is not None:
        return SimulatedSource(simulator_url, gpus)
    try:
        return NvmlSource(load_bindings(), gpus)
    except GpuUnavailable as unavailable:
        return NoGpu(unavailable.failure)
