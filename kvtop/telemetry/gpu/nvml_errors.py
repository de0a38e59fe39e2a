"""Exceptions of NVIDIA's bindings, turned into ours."""

from __future__ import annotations

from kvtop.telemetry.gpu import nvml_failures as failures
from kvtop.telemetry.gpu.source import DeviceLost, FieldMissing, GpuUnavailable


class TooOld(FieldMissing):
    """The driver or the bindings know only an older form of the call."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, permanent=True)


class NotSupported(FieldMissing):
    """The GPU has no such thing to tell."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, permanent=True)


class NoSuchThing(FieldMissing):
    """The driver knows no such device, slice or process."""


def at_start(error: Exception) -> GpuUnavailable:
    """Return what an error at the start of NVML means."""
    return GpuUnavailable(failures.start_failure(_code(error), _words(error)))


def about_device(error: Exception) -> FieldMissing | DeviceLost:
    """Return what an error in a call about one GPU means."""
    code, words = _code(error), _words(error)
    if code in failures.GONE:
        return DeviceLost(failures.device_reason(code, words))
    reason = failures.field_reason(code, words)
    if code in failures.OLDER_CALL:
        return TooOld(reason)
    if code == failures.NOT_SUPPORTED:
        return NotSupported(reason)
    if code == failures.NOT_FOUND:
        return NoSuchThing(reason)
    return FieldMissing(reason, permanent=code in failures.PERMANENT)


def _code(error: Exception) -> int | None:
    """Return NVML's code; the bindings' mismatch error has none and means a missing function."""
    return getattr(error, "value", failures.FUNCTION_NOT_FOUND)


def _words(error: Exception) -> str:
    try:
        return str(error)
    except UnicodeDecodeError:
        return f"NVML error {_code(error)}"
