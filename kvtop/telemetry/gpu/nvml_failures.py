"""What NVML's errors mean, in words, and what to do about them."""

from __future__ import annotations

from kvtop.model.failure import Failure
from kvtop.model.text import clean_text

NOT_SUPPORTED = 3
NO_PERMISSION = 4
NOT_FOUND = 6
DRIVER_NOT_LOADED = 9
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
RESET_REQUIRED = 16
OPERATING_SYSTEM = 17
LIB_RM_VERSION_MISMATCH = 18
ARGUMENT_VERSION_MISMATCH = 25
GPU_NOT_FOUND = 28
UNKNOWN = 999

GONE = frozenset({DRIVER_NOT_LOADED, GPU_IS_LOST, RESET_REQUIRED, GPU_NOT_FOUND})
"""Codes after which nothing about that GPU can be read."""
PERMANENT = frozenset({NOT_SUPPORTED, NO_PERMISSION, FUNCTION_NOT_FOUND, ARGUMENT_VERSION_MISMATCH})
"""Codes that the same question will get again."""
OLDER_CALL = frozenset({FUNCTION_NOT_FOUND, ARGUMENT_VERSION_MISMATCH})
"""Codes of a driver that knows only the older form of the call."""

_GOES_ON = "Measurements through the API work without it."

_START = {
    LIBRARY_NOT_FOUND: (
        "nvml_missing",
        "No NVIDIA driver library (libnvidia-ml.so.1) on this machine or in this container.",
        f"Install the NVIDIA driver, or start the container with its GPUs (--gpus all). {_GOES_ON}",
    ),
    DRIVER_NOT_LOADED: (
        "driver_not_loaded",
        "The NVIDIA driver is installed but its kernel module is not loaded.",
        "Load it (modprobe nvidia) or reboot; nvidia-smi must work first.",
    ),
    LIB_RM_VERSION_MISMATCH: (
        "driver_mismatch",
        "The NVIDIA kernel module and library have different versions, as after a driver update.",
        "Reboot, or stop all GPU programs and reload the nvidia kernel modules.",
    ),
    NO_PERMISSION: (
        "gpu_permission",
        "The NVIDIA driver refuses this user.",
        "Give the user access to /dev/nvidia* (often the group video or render).",
    ),
    OPERATING_SYSTEM: (
        "gpu_permission",
        "The operating system blocked access to the NVIDIA driver.",
        "Check that /dev/nvidia* exist here and that cgroup or sandbox rules allow them.",
    ),
    GPU_IS_LOST: (
        "gpu_lost",
        "A GPU has fallen off the bus and the driver does not start.",
        "Look for Xid messages in the kernel log; only a reboot brings it back.",
    ),
    UNKNOWN: (
        "nvml_unknown",
        'NVML does not start: "Unknown Error".',
        "A container loses its GPUs this way, often after systemctl daemon-reload on the host: restart it.",
    ),
}

_FIELD = {
    NOT_SUPPORTED: "not supported by this GPU",
    NO_PERMISSION: "not permitted for this user (the parent GPU in MIG mode, or profiling counters)",
    FUNCTION_NOT_FOUND: "this driver is too old to tell",
    ARGUMENT_VERSION_MISMATCH: "this driver does not know the question",
    UNKNOWN: "the driver answered Unknown Error (a container may have lost its GPUs)",
}

_DEVICE = {
    GPU_IS_LOST: "GPU is lost: it fell off the bus; see the kernel log for Xid messages",
    RESET_REQUIRED: "GPU must be reset (nvidia-smi --gpu-reset) or the machine rebooted",
    DRIVER_NOT_LOADED: "the NVIDIA driver was unloaded",
}


def start_failure(code: int | None, words: str) -> Failure:
    """Return the failure for an error at the start of NVML; `words` is NVML's own text."""
    known = _START.get(code) if code is not None else None
    if known:
        return Failure.of(*known)
    return Failure.of("nvml_failed", f"NVML does not start: {words}.", f"Check nvidia-smi. {_GOES_ON}")


def no_devices() -> Failure:
    """Return the failure for a driver that works and has no GPU."""
    return Failure.of(
        "no_gpu",
        "The NVIDIA driver works but shows no GPU.",
        f"In a container, pass the GPUs in (--gpus all, NVIDIA_VISIBLE_DEVICES). {_GOES_ON}",
    )


def wrong_bindings(path: str) -> Failure:
    """Return the failure for a module `pynvml` at `path` that is not NVIDIA's current one."""
    return Failure.of(
        "nvml_bindings",
        f"Another package provides an outdated Python module pynvml: {path}",
        "Run pip uninstall pynvml nvidia-ml-py3, then pip install --force-reinstall nvidia-ml-py.",
    )


def no_bindings() -> Failure:
    """Return the failure for a missing module `pynvml`."""
    return Failure.of(
        "nvml_bindings",
        "The Python package nvidia-ml-py is missing or broken, so GPUs cannot be read.",
        "Run pip install --force-reinstall nvidia-ml-py.",
    )


def field_reason(code: int | None, words: str) -> str:
    """Return why one query has no answer."""
    return _FIELD.get(code or 0) or f"the driver answered: {clean_text(words)}"


def device_reason(code: int | None, words: str) -> str:
    """Return why a GPU is gone."""
    return _DEVICE.get(code or 0) or f"GPU is gone: {clean_text(words)}"
