"""Checks on NVML's process lists, whose struct once changed within a driver branch."""

from __future__ import annotations

from collections.abc import Sequence

from kvtop.telemetry.gpu.source import FieldMissing, GpuProcess

HIGHEST_PID = 2**22
"""Linux gives no pid above this (PID_MAX_LIMIT), in whatever pid namespace."""


def merge_lists(lists: Sequence[Sequence[GpuProcess]], total_bytes: float | None) -> tuple[GpuProcess, ...]:
    """Return one row per pid of the compute and graphics lists, the larger size where both tell one.

    Raises FieldMissing when a pid or a size is impossible: then no row of the list can be trusted.
    """
    merged: dict[int, GpuProcess] = {}
    for process in (row for rows in lists for row in rows):
        _check(process, total_bytes)
        known = merged.get(process.pid)
        if known is None or (process.gpu_mem_bytes or -1) > (known.gpu_mem_bytes or -1):
            merged[process.pid] = process
    return tuple(merged.values())


def _check(process: GpuProcess, total_bytes: float | None) -> None:
    if not 0 < process.pid <= HIGHEST_PID:
        raise FieldMissing(f"the driver's process list is garbled: pid {process.pid}")
    size = process.gpu_mem_bytes
    if size is not None and total_bytes is not None and size > total_bytes:
        raise FieldMissing(
            f"the driver's process list is garbled: {size} bytes on a GPU of {total_bytes:.0f}"
        )
