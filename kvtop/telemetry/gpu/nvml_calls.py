"""The NVML calls that kvtop makes, in the newest form the driver knows, with errors told in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from kvtop.telemetry.gpu import nvml_errors as errors
from kvtop.telemetry.gpu.source import FieldMissing, GpuProcess, UnifiedMemory, Values

Form = tuple[str, tuple[Any, ...]]
"""A function of the bindings and its arguments after the handle."""

_TEMPERATURE_GPU = 0
_CLOCK_SM = 1

_COMPUTE: tuple[Form, ...] = (
    ("nvmlDeviceGetComputeRunningProcesses_v3", ()),
    ("nvmlDeviceGetComputeRunningProcesses_v2", ()),
)
_GRAPHICS: tuple[Form, ...] = (
    ("nvmlDeviceGetGraphicsRunningProcesses_v3", ()),
    ("nvmlDeviceGetGraphicsRunningProcesses_v2", ()),
)
_TEMPERATURE: tuple[Form, ...] = (
    ("nvmlDeviceGetTemperatureV", (_TEMPERATURE_GPU,)),
    ("nvmlDeviceGetTemperature", (_TEMPERATURE_GPU,)),
)
_THROTTLE: tuple[Form, ...] = (
    ("nvmlDeviceGetCurrentClocksEventReasons", ()),
    ("nvmlDeviceGetCurrentClocksThrottleReasons", ()),
)


class NvmlCalls:
    """One method a question. All but `start` raise FieldMissing or DeviceLost."""

    def __init__(self, bindings: ModuleType) -> None:
        self._nvml = bindings
        mismatch = getattr(bindings, "NVMLLibraryMismatchError", bindings.NVMLError)
        self._errors: tuple[type[Exception], ...] = (bindings.NVMLError, mismatch)
        self._memory: tuple[Form, ...] = (
            ("nvmlDeviceGetMemoryInfo", (bindings.nvmlMemory_v2,)),
            ("nvmlDeviceGetMemoryInfo", ()),
        )
        self._working: dict[tuple[Form, ...], Form] = {}
        self._started = False

    def start(self) -> int:
        """Start NVML, anew if it was started before, and return the number of GPUs. Raises GpuUnavailable."""
        self.stop()
        try:
            self._nvml.nvmlInit()
            self._started = True
            return int(self._nvml.nvmlDeviceGetCount())
        except self._errors as error:
            raise errors.at_start(error) from error

    def stop(self) -> None:
        """Shut NVML down if it was started. Its refusal changes nothing for us."""
        if not self._started:
            return
        self._started = False
        try:
            self._nvml.nvmlShutdown()
        except self._errors:
            return

    def count(self) -> int:
        """Return the number of GPUs."""
        return int(self._ask(self._nvml.nvmlDeviceGetCount))

    def handle_by_index(self, index: int) -> Any:
        """Return the handle of the GPU at `index`."""
        return self._ask(self._nvml.nvmlDeviceGetHandleByIndex, index)

    def handle_by_uuid(self, uuid: str) -> Any:
        """Return the handle of the GPU with `uuid`."""
        return self._ask(self._nvml.nvmlDeviceGetHandleByUUID, uuid)

    def uuid(self, handle: Any) -> str:
        """Return the GPU's UUID."""
        return str(self._ask(self._nvml.nvmlDeviceGetUUID, handle))

    def product(self, handle: Any) -> str:
        """Return the product name."""
        return str(self._ask(self._nvml.nvmlDeviceGetName, handle))

    def bus_id(self, handle: Any) -> str:
        """Return the PCI bus id."""
        raw = self._ask(self._nvml.nvmlDeviceGetPciInfo, handle).busId
        return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)

    def is_mig(self, handle: Any) -> bool:
        """Whether the GPU is cut into MIG slices."""
        current, _ = self._ask(self._nvml.nvmlDeviceGetMigMode, handle)
        return bool(current)

    def slices(self, handle: Any) -> Iterator[Any]:
        """Yield the handles of the GPU's MIG slices, up to the first that is not there."""
        try:
            for index in range(self._ask(self._nvml.nvmlDeviceGetMaxMigDeviceCount, handle)):
                yield self._ask(self._nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
        except errors.NoSuchThing:
            return

    def memory(self, handle: Any) -> Values:
        """Return used and total bytes; the v2 form, whose `used` leaves out what the driver reserves.

        Raises UnifiedMemory where the driver does not support the question or names no total.
        """
        try:
            memory = self._newest(self._memory, handle)
        except errors.NotSupported as missing:
            raise UnifiedMemory from missing
        used, total = int(memory.used), int(memory.total)
        if total == 0:
            raise UnifiedMemory
        if used > total:
            raise FieldMissing(f"the driver's numbers are impossible: {used} of {total} bytes used")
        return {"mem_used_bytes": used, "mem_total_bytes": total}

    def utilization(self, handle: Any) -> Values:
        """Return the busy shares of kernels and of memory traffic, in percent."""
        rates = self._ask(self._nvml.nvmlDeviceGetUtilizationRates, handle)
        highest = max(rates.gpu, rates.memory)
        if highest > 100:
            raise FieldMissing(f"the driver's number is impossible: {highest} %")
        return {"util_pct": float(rates.gpu), "mem_bw_util_pct": float(rates.memory)}

    def power(self, handle: Any) -> Values:
        """Return the power draw in watts."""
        return {"power_w": self._ask(self._nvml.nvmlDeviceGetPowerUsage, handle) / 1000}

    def temperature(self, handle: Any) -> Values:
        """Return the core temperature in degrees Celsius."""
        return {"temp_c": float(self._newest(_TEMPERATURE, handle))}

    def sm_clock(self, handle: Any) -> Values:
        """Return the SM clock in MHz."""
        return {"sm_clock_mhz": self._ask(self._nvml.nvmlDeviceGetClockInfo, handle, _CLOCK_SM)}

    def throttle(self, handle: Any) -> Values:
        """Return the bit mask of reasons that hold the clocks down."""
        return {"throttle_reasons": self._newest(_THROTTLE, handle)}

    def compute_processes(self, handle: Any) -> list[GpuProcess]:
        """Return the processes with a compute context."""
        return [_process(row) for row in self._newest(_COMPUTE, handle)]

    def graphics_processes(self, handle: Any) -> list[GpuProcess]:
        """Return the processes with a graphics context."""
        return [_process(row) for row in self._newest(_GRAPHICS, handle)]

    def _newest(self, forms: tuple[Form, ...], handle: Any) -> Any:
        """Answer with the newest form that the driver knows, and stay with it."""
        if forms in self._working:
            return self._ask_form(self._working[forms], handle)
        for form in forms[:-1]:
            try:
                answer = self._ask_form(form, handle)
            except errors.TooOld:
                continue
            self._working[forms] = form
            return answer
        answer = self._ask_form(forms[-1], handle)
        self._working[forms] = forms[-1]
        return answer

    def _ask_form(self, form: Form, handle: Any) -> Any:
        name, arguments = form
        function = getattr(self._nvml, name, None)
        if function is None:
            raise errors.TooOld(f"these bindings have no {name}")
        return self._ask(function, handle, *arguments)

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except UnicodeDecodeError as error:
            return error.object.decode("utf-8", "replace")
        except self._errors as error:
            raise errors.about_device(error) from error


def _process(row: Any) -> GpuProcess:
    size = row.usedGpuMemory
    return GpuProcess(int(row.pid), None if size is None else int(size))
