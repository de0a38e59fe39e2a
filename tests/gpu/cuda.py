"""Plain allocations on a GPU through the CUDA driver library, without a framework."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager


class Cuda:
    """A context on the first GPU that CUDA shows."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._call("cuInit", 0)
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxSetCurrent", context)
        self._device = device

    @property
    def uuid(self) -> str:
        """The GPU's UUID as NVML writes it."""
        raw = (ctypes.c_ubyte * 16)()
        self._call("cuDeviceGetUuid", ctypes.byref(raw), self._device)
        text = bytes(raw).hex()
        return f"GPU-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    @contextmanager
    def allocated(self, size: int) -> Iterator[None]:
        """Hold `size` bytes of the GPU's memory."""
        pointer = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        try:
            yield
        finally:
            self._call("cuMemFree_v2", pointer)

    def _call(self, name: str, *arguments: object) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            raise OSError(f"{name} answered {code}")
