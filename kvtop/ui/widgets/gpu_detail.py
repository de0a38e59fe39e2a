"""All that is known of one GPU, for the place where there is room for reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtop.model.quantity import UNKNOWN, format_bytes
from kvtop.ui.gpu_memory import held_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvtop.model.reading import GpuReading
    from kvtop.ui.messages import GpuSnapshot

_FIELDS = {
    "mem_used_bytes": "memory used",
    "mem_total_bytes": "memory total",
    "util_pct": "load",
    "mem_bw_util_pct": "memory traffic",
    "power_w": "power",
    "temp_c": "temperature",
    "sm_clock_mhz": "SM clock",
    "throttle_reasons": "clock limits",
    "processes": "processes",
}

# NVML's clocks event reasons that hold a busy GPU down (nvml.h, nvmlClocksEventReason*).
_LIMITS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "temperature (software)",
    0x40: "temperature (hardware)",
    0x80: "power brake",
}


def gpu_detail(reading: GpuReading, snapshot: GpuSnapshot, last_good: GpuReading | None = None) -> str:
    """Return several lines: identity, memory with its parts, clocks, and why a field is not there."""
    return "\n".join(_lines(reading, snapshot, last_good))


def fault_lines(reading: GpuReading) -> tuple[str, ...]:
    """Return why fields are missing, one line a reason: fields with the same reason share it."""
    by_reason: dict[str, list[str]] = {}
    for field, reason in reading.faults.items():
        by_reason.setdefault(reason, []).append(_FIELDS.get(field, field))
    return tuple(
        reason if names == ["device"] else f"{', '.join(names)}: {reason}"
        for reason, names in by_reason.items()
    )


def _lines(reading: GpuReading, snapshot: GpuSnapshot, last_good: GpuReading | None) -> Iterator[str]:
    device = reading.device
    simulated = "SIMULATED  " if reading.source == "simulated" else ""
    part = "" if device.slice_index is None else f", slice {device.slice_index}"
    yield f"GPU {device.index}{part}  {simulated}{device.name}"
    yield "  ".join(text for text in (device.uuid, device.bus_id) if text)
    if "device" in reading.faults and last_good is not None:
        yield f"last seen with {format_bytes(last_good.mem_used_bytes)} used"
    elif "device" not in reading.faults:
        yield _memory(reading, snapshot)
        yield _clocks(reading)
    yield from fault_lines(reading)


def _memory(reading: GpuReading, snapshot: GpuSnapshot) -> str:
    held = held_bytes(reading.device.uuid, snapshot.processes)
    by_processes = f"processes hold {format_bytes(held)}"
    if reading.unified:
        return f"memory shared with the host; {by_processes}"
    used = f"{format_bytes(reading.mem_used_bytes)} of {format_bytes(reading.mem_total_bytes)} used"
    base = snapshot.base_bytes.get(reading.device.uuid)
    return f"{used}, {format_bytes(base)} at first; {by_processes}"


def _clocks(reading: GpuReading) -> str:
    clock = UNKNOWN if reading.sm_clock_mhz is None else f"{reading.sm_clock_mhz} MHz"
    traffic = UNKNOWN if reading.mem_bw_util_pct is None else f"{reading.mem_bw_util_pct:.0f}%"
    reasons = reading.throttle_reasons or 0
    limits = ", ".join(name for bit, name in _LIMITS.items() if reasons & bit)
    return f"SM clock {clock}, memory traffic {traffic}" + (f", held down by {limits}" if limits else "")
