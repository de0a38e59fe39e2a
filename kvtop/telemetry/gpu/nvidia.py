"""NVIDIA GPUs through NVML, or through nvidia-smi where NVML itself cannot be loaded."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from kvtop.model.failure import Failure
from kvtop.model.reading import GpuDevice
from kvtop.telemetry.gpu.bindings import load_bindings
from kvtop.telemetry.gpu.none import NoGpu
from kvtop.telemetry.gpu.nvidia_smi import PROGRAM, NvidiaSmiSource
from kvtop.telemetry.gpu.nvml import NvmlSource
from kvtop.telemetry.gpu.source import ChangingSource, GpuProcess, GpuSource, GpuUnavailable, Query, Values

_CANNOT_LOAD = frozenset({"nvml_missing", "nvml_bindings"})
"""NVML was not asked at all. A driver that refuses it refuses nvidia-smi too."""


class NvidiaSource:
    """Decides in `open` what to read through, and hands every call on to that."""

    def __init__(self, gpus: Sequence[str] = ()) -> None:
        self._gpus = tuple(gpus)
        self._active: GpuSource = _nvml(self._gpus)
        self._note: Failure | None = None

    @property
    def name(self) -> str:
        """`nvml`, `nvidia-smi` or `none`."""
        return self._active.name

    @property
    def note(self) -> Failure | None:
        """Why nvidia-smi is read instead of NVML."""
        return self._note

    def open(self) -> tuple[GpuDevice, ...]:
        """Open NVML, or nvidia-smi when NVML cannot be loaded. Raises GpuUnavailable."""
        self.close()
        self._active, self._note = _nvml(self._gpus), None
        try:
            return self._active.open()
        except GpuUnavailable as unavailable:
            program = shutil.which(PROGRAM) if unavailable.failure.code in _CANNOT_LOAD else None
            if program is None:
                raise
            return self._open_instead(program, unavailable.failure)

    def refresh(self) -> None:
        """Mark the start of a tick."""
        self._active.refresh()

    def list_again(self) -> tuple[GpuDevice, ...] | None:
        """Return the GPUs there are now, None where they cannot change."""
        return self._active.list_again() if isinstance(self._active, ChangingSource) else None

    def read(self, device: GpuDevice, query: Query) -> Values:
        """Return the fields of `query`. Raises FieldMissing or DeviceLost."""
        return self._active.read(device, query)

    def processes(self, device: GpuDevice) -> tuple[GpuProcess, ...]:
        """Return the processes on `device`. Raises FieldMissing or DeviceLost."""
        return self._active.processes(device)

    def recover(self, device: GpuDevice) -> GpuDevice:
        """Find a lost GPU again. Raises DeviceLost."""
        return self._active.recover(device)

    def close(self) -> None:
        """Let go of the driver."""
        self._active.close()

    def _open_instead(self, program: str, why: Failure) -> tuple[GpuDevice, ...]:
        substitute = NvidiaSmiSource(self._gpus, program=program)
        try:
            devices = substitute.open()
        except GpuUnavailable as unavailable:
            if unavailable.failure.code == "no_such_gpu":
                raise
            text = f"{why.text} {unavailable.failure.text}"
            raise GpuUnavailable(Failure.of(why.code, text, why.hint)) from unavailable
        self._active = substitute
        self._note = Failure.of("nvidia_smi_instead", f"Read through nvidia-smi: {why.text}", why.hint)
        return devices


def _nvml(gpus: Sequence[str]) -> GpuSource:
    try:
        return NvmlSource(load_bindings(), gpus)
    except GpuUnavailable as unavailable:
        return NoGpu(unavailable.failure)
