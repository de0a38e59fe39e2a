"""A source of GPU readings that one sampler after another can use without starting the driver anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtop.telemetry.gpu.source import ChangingSource, SubstituteSource

if TYPE_CHECKING:
    from kvtop.model.failure import Failure
    from kvtop.model.reading import GpuDevice
    from kvtop.telemetry.gpu.source import GpuProcess, GpuSource, Query, Values


class KeptSource:
    """Opens `source` once and closes it only after `finish`: without persistence mode a start costs seconds.

    Its users follow each other. It answers as a `ChangingSource` and a `SubstituteSource`.
    """

    def __init__(self, source: GpuSource) -> None:
        self._source = source
        self._substitute = source if isinstance(source, SubstituteSource) else None
        self._changing = source if isinstance(source, ChangingSource) else None
        self._devices: tuple[GpuDevice, ...] | None = None
        self._finishing = False

    @property
    def name(self) -> str:
        """The name of the source itself."""
        return self._source.name

    @property
    def note(self) -> Failure | None:
        """What is read instead of what should be."""
        return self._substitute.note if self._substitute else None

    def finish(self) -> None:
        """Let the next `close` be the last one. Callable from any thread."""
        self._finishing = True

    def open(self) -> tuple[GpuDevice, ...]:
        """Return the GPUs as last listed; start the driver the first time. Raises GpuUnavailable."""
        if self._devices is None:
            self._devices = self._source.open()
        return self._devices

    def list_again(self) -> tuple[GpuDevice, ...] | None:
        """Return the GPUs there are now, None for no change."""
        devices = self._changing.list_again() if self._changing else None
        self._devices = devices or self._devices
        return devices

    def refresh(self) -> None:
        """Mark the start of a tick."""
        self._source.refresh()

    def read(self, device: GpuDevice, query: Query) -> Values:
        """Return the fields of `query`. Raises FieldMissing or DeviceLost."""
        return self._source.read(device, query)

    def processes(self, device: GpuDevice) -> tuple[GpuProcess, ...]:
        """Return the processes on `device`. Raises FieldMissing or DeviceLost."""
        return self._source.processes(device)

    def recover(self, device: GpuDevice) -> GpuDevice:
        """Find a lost GPU again. Raises DeviceLost."""
        found = self._source.recover(device)
        self._devices = tuple(found if known == device else known for known in self._devices or ())
        return found

    def close(self) -> None:
        """Close the source if it is not needed any more."""
        if self._finishing:
            self._source.close()
