"""Which GPUs and MIG slices NVML shows, and the handles to ask them by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from kvtop.model.reading import GpuDevice
from kvtop.model.text import clean_text
from kvtop.telemetry.gpu.nvml_calls import NvmlCalls
from kvtop.telemetry.gpu.source import DeviceLost, FieldMissing

UNIDENTIFIED = "unidentified-"
"""Stands in for the UUID of a GPU that was lost before it could be asked, followed by its index."""


class NvmlDevices:
    """The list of GPUs, each followed by its slices. A GPU stays in it when it is lost, a slice does not."""

    def __init__(self, calls: NvmlCalls) -> None:
        self._calls = calls
        self._gpus: list[GpuDevice] = []
        self._slices: dict[str, list[GpuDevice]] = {}
        self._handles: dict[str, Any] = {}
        self._never_mig: set[str] = set()

    def identify(self, count: int) -> tuple[GpuDevice, ...]:
        """Identify `count` GPUs from scratch; one that does not answer gets a stand-in."""
        self.clear()
        self._gpus = [self._identify_or_stand_in(index) for index in range(count)]
        return self.look_for_slices()

    def look_again(self) -> tuple[GpuDevice, ...]:
        """Return the list with GPUs that have come since and with the slices there are now."""
        try:
            count = self._calls.count()
        except (FieldMissing, DeviceLost):
            count = 0
        self._gpus += [self._identify_or_stand_in(index) for index in range(len(self._gpus), count)]
        return self.look_for_slices()

    def look_for_slices(self) -> tuple[GpuDevice, ...]:
        """Return the list with the slices there are now."""
        self._gpus = [self._look_for_slices_of(gpu) for gpu in self._gpus]
        return tuple(device for gpu in self._gpus for device in (gpu, *self._slices.get(gpu.uuid, ())))

    def handle(self, device: GpuDevice) -> Any:
        """Return the handle of `device`. Raises DeviceLost when there is none."""
        try:
            return self._handles[device.uuid]
        except KeyError:
            raise DeviceLost("GPU could not be identified, as when it fell off the bus") from None

    def recover(self, device: GpuDevice) -> GpuDevice:
        """Ask for the handle of a lost device again. Raises DeviceLost."""
        self._handles.pop(device.uuid, None)
        self._never_mig.discard(device.uuid)
        try:
            if device.uuid.startswith(UNIDENTIFIED):
                return self._identify_late(device)
            self._handles[device.uuid] = self._calls.handle_by_uuid(device.uuid)
        except FieldMissing as missing:
            raise DeviceLost(missing.reason) from missing
        return device

    def clear(self) -> None:
        """Forget everything, as after the driver was closed."""
        self._gpus.clear()
        self._slices.clear()
        self._handles.clear()
        self._never_mig.clear()

    def _identify_late(self, stand_in: GpuDevice) -> GpuDevice:
        device = self._identify(stand_in.index)
        self._gpus = [device if gpu == stand_in else gpu for gpu in self._gpus]
        return device

    def _identify_or_stand_in(self, index: int) -> GpuDevice:
        try:
            return self._identify(index)
        except (FieldMissing, DeviceLost):
            return GpuDevice(index, f"{UNIDENTIFIED}{index}", f"GPU {index}")

    def _identify(self, index: int) -> GpuDevice:
        return self._remember(index, self._calls.handle_by_index(index))

    def _remember(self, index: int, handle: Any) -> GpuDevice:
        uuid = clean_text(self._calls.uuid(handle))
        name = _text_or_none(self._calls.product, handle) or f"GPU {index}"
        self._handles[uuid] = handle
        return GpuDevice(index, uuid, name, _text_or_none(self._calls.bus_id, handle))

    def _look_for_slices_of(self, gpu: GpuDevice) -> GpuDevice:
        """Find the slices of `gpu` and return it as it is now, in MIG mode or not."""
        handle = self._handles.get(gpu.uuid)
        if handle is None or gpu.uuid in self._never_mig:
            return gpu
        try:
            cut = self._calls.is_mig(handle)
            found = list(self._identify_slices(gpu, handle)) if cut else []
        except FieldMissing as missing:
            if missing.permanent:
                self._never_mig.add(gpu.uuid)
            return gpu
        except DeviceLost:
            return gpu
        self._replace_slices(gpu, found)
        return replace(gpu, mig=cut)

    def _identify_slices(self, gpu: GpuDevice, handle: Any) -> Iterator[GpuDevice]:
        for place, slice_handle in enumerate(self._calls.slices(handle)):
            device = self._remember(gpu.index, slice_handle)
            yield replace(device, bus_id=gpu.bus_id, parent_uuid=gpu.uuid, slice_index=place)

    def _replace_slices(self, gpu: GpuDevice, found: list[GpuDevice]) -> None:
        there = {device.uuid for device in found}
        for old in self._slices.pop(gpu.uuid, ()):
            if old.uuid not in there:
                self._handles.pop(old.uuid, None)
        self._slices[gpu.uuid] = found


def _text_or_none(ask: Callable[[Any], str], handle: Any) -> str | None:
    try:
        return clean_text(ask(handle)) or None
    except FieldMissing:
        return None
