"""NVIDIA GPUs through NVML, with the bindings of the package nvidia-ml-py."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from kvtop.model.reading import GpuDevice
from kvtop.model.text import clean_text
from kvtop.telemetry.gpu import nvml_failures as failures
from kvtop.telemetry.gpu.nvml_calls import NvmlCalls
from kvtop.telemetry.gpu.nvml_processes import merge_lists
from kvtop.telemetry.gpu.source import (
    MEMORY,
    POWER,
    SM_CLOCK,
    TEMPERATURE,
    THROTTLE,
    UTILIZATION,
    DeviceLost,
    FieldMissing,
    GpuProcess,
    GpuUnavailable,
    Query,
    Values,
    select_devices,
)

UNIDENTIFIED = "unidentified-"
"""Start of the stand-in UUID of a GPU that could not be asked for its own."""


def load_bindings() -> ModuleType:
    """Import the module `pynvml`, without loading the driver library.

    Raises GpuUnavailable when it is missing or an outdated package shadows NVIDIA's.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pynvml
    except ImportError as error:
        raise GpuUnavailable(failures.no_bindings()) from error
    if not hasattr(pynvml, "nvmlMemory_v2"):
        raise GpuUnavailable(failures.wrong_bindings(str(getattr(pynvml, "__file__", "?"))))
    module: ModuleType = pynvml
    return module


class NvmlSource:
    """All GPUs that NVML shows, or the wanted ones. Handles are asked for once and after a loss."""

    name = "nvml"

    def __init__(self, bindings: ModuleType, gpus: Sequence[str] = ()) -> None:
        self._calls = calls = NvmlCalls(bindings)
        self._gpus = tuple(gpus)
        self._handles: dict[str, Any] = {}
        self._total_bytes: dict[str, float] = {}
        self._without_graphics: set[str] = set()
        self._readers: dict[str, Callable[[Any], Values]] = {
            MEMORY.name: calls.memory,
            UTILIZATION.name: calls.utilization,
            POWER.name: calls.power,
            TEMPERATURE.name: calls.temperature,
            SM_CLOCK.name: calls.sm_clock,
            THROTTLE.name: calls.throttle,
        }

    def open(self) -> tuple[GpuDevice, ...]:
        """Start NVML and identify the GPUs; one that is lost keeps its place in the list.

        Raises GpuUnavailable when NVML does not start, has no GPU, or not the wanted ones.
        """
        count = self._calls.start()
        if count == 0:
            raise GpuUnavailable(failures.no_devices())
        return select_devices([self._identify_or_stand_in(index) for index in range(count)], self._gpus)

    def refresh(self) -> None:
        """Do nothing: every NVML call is about one GPU."""

    def read(self, device: GpuDevice, query: Query) -> Values:
        """Return the fields of `query`. Raises FieldMissing or DeviceLost."""
        values = self._readers[query.name](self._handle(device))
        if query is MEMORY:
            self._total_bytes[device.uuid] = values["mem_total_bytes"]
        return values

    def processes(self, device: GpuDevice) -> tuple[GpuProcess, ...]:
        """Return the processes on `device`, one row a pid. Raises FieldMissing or DeviceLost.

        The list of graphics processes is another slow call: a GPU that had none when first asked is
        not asked for them again until it was lost and found.
        """
        handle = self._handle(device)
        compute = self._calls.compute_processes(handle)
        return merge_lists((compute, self._graphics(device, handle)), self._total_bytes.get(device.uuid))

    def recover(self, device: GpuDevice) -> GpuDevice:
        """Ask for the handle of a lost GPU again. Raises DeviceLost."""
        self._handles.pop(device.uuid, None)
        self._without_graphics.discard(device.uuid)
        try:
            if device.uuid.startswith(UNIDENTIFIED):
                return self._identify(device.index)
            self._handles[device.uuid] = self._calls.handle_by_uuid(device.uuid)
        except FieldMissing as missing:
            raise DeviceLost(missing.reason) from missing
        return device

    def close(self) -> None:
        """Shut NVML down if it was started."""
        self._handles.clear()
        self._calls.stop()

    def _handle(self, device: GpuDevice) -> Any:
        try:
            return self._handles[device.uuid]
        except KeyError:
            raise DeviceLost("GPU could not be identified, as when it fell off the bus") from None

    def _identify_or_stand_in(self, index: int) -> GpuDevice:
        try:
            return self._identify(index)
        except (FieldMissing, DeviceLost):
            return GpuDevice(index, f"{UNIDENTIFIED}{index}", f"GPU {index}")

    def _identify(self, index: int) -> GpuDevice:
        handle = self._calls.handle_by_index(index)
        uuid = clean_text(self._calls.uuid(handle))
        name = _text_or_none(self._calls.product, handle) or f"GPU {index}"
        device = GpuDevice(index, uuid, name, _text_or_none(self._calls.bus_id, handle))
        self._handles[uuid] = handle
        return device

    def _graphics(self, device: GpuDevice, handle: Any) -> list[GpuProcess]:
        if device.uuid in self._without_graphics:
            return []
        try:
            listed = self._calls.graphics_processes(handle)
        except FieldMissing:
            listed = []
        if not listed:
            self._without_graphics.add(device.uuid)
        return listed


def _text_or_none(ask: Callable[[Any], str], handle: Any) -> str | None:
    try:
        return clean_text(ask(handle)) or None
    except FieldMissing:
        return None
