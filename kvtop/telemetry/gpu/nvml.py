"""NVIDIA GPUs through NVML, with the bindings of the package nvidia-ml-py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from kvtop.model.reading import GpuDevice
from kvtop.telemetry.gpu import nvml_failures as failures
from kvtop.telemetry.gpu.nvml_calls import NvmlCalls
from kvtop.telemetry.gpu.nvml_devices import NvmlDevices
from kvtop.telemetry.gpu.nvml_processes import merge_lists
from kvtop.telemetry.gpu.source import (
    MEMORY,
    POWER,
    SM_CLOCK,
    TEMPERATURE,
    THROTTLE,
    UTILIZATION,
    FieldMissing,
    GpuProcess,
    GpuUnavailable,
    Query,
    Values,
    select_devices,
    wanted_devices,
)

NOT_IN_MIG = "n/a (MIG)"
"""Why a GPU in MIG mode and its slices have no utilization; the driver counts it for neither."""
_OF_THE_WHOLE_GPU = "n/a (MIG): told for the whole GPU only"
_LISTED_BY_SLICE = "n/a (MIG): listed for its slices"


class NvmlSource:
    """All GPUs and MIG slices that NVML shows, or the wanted ones. Handles are kept until a GPU is lost."""

    name = "nvml"

    def __init__(self, bindings: ModuleType, gpus: Sequence[str] = ()) -> None:
        self._calls = calls = NvmlCalls(bindings)
        self._devices = NvmlDevices(calls)
        self._gpus = tuple(gpus)
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

        Raises GpuUnavailable when NVML does not start, has no GPU, or not the wanted ones. It may then
        be called again: NVML is started anew, which alone makes it see GPUs that have come since.
        """
        count = self._calls.start()
        if count == 0:
            raise GpuUnavailable(failures.no_devices())
        return select_devices(self._devices.identify(count), self._gpus)

    def refresh(self) -> None:
        """Do nothing: every NVML call is about one GPU."""

    def list_again(self) -> tuple[GpuDevice, ...]:
        """Return the GPUs and the slices there are now."""
        return wanted_devices(self._devices.look_again(), self._gpus)

    def read(self, device: GpuDevice, query: Query) -> Values:
        """Return the fields of `query`. Raises FieldMissing or DeviceLost."""
        handle = self._devices.handle(device)
        if query is not MEMORY and (reason := _reason_in_mig(device, query)):
            raise FieldMissing(reason, permanent=True)
        values = self._readers[query.name](handle)
        if query is MEMORY:
            self._total_bytes[device.uuid] = values["mem_total_bytes"]
        return values

    def processes(self, device: GpuDevice) -> tuple[GpuProcess, ...]:
        """Return the processes on `device`, one row a pid. Raises FieldMissing or DeviceLost.

        The list of graphics processes is another slow call: a GPU that had none when first asked is
        not asked for them again until it was lost and found.
        """
        handle = self._devices.handle(device)
        if device.mig:
            raise FieldMissing(_LISTED_BY_SLICE)
        compute = self._calls.compute_processes(handle)
        return merge_lists((compute, self._graphics(device, handle)), self._total_bytes.get(device.uuid))

    def recover(self, device: GpuDevice) -> GpuDevice:
        """Ask for the handle of a lost GPU again. Raises DeviceLost."""
        self._without_graphics.discard(device.uuid)
        return self._devices.recover(device)

    def close(self) -> None:
        """Shut NVML down if it was started."""
        self._devices.clear()
        self._calls.stop()

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


def _reason_in_mig(device: GpuDevice, query: Query) -> str | None:
    if query is UTILIZATION and (device.mig or device.parent_uuid):
        return NOT_IN_MIG
    return _OF_THE_WHOLE_GPU if device.parent_uuid else None
