"""The GPUs of a source: found at the start, or later, and looked through again from time to time."""

from __future__ import annotations

from kvtop.model.failure import Failure
from kvtop.model.reading import GpuDevice
from kvtop.telemetry.device_reader import DeviceReader
from kvtop.telemetry.gpu.source import ChangingSource, GpuSource, GpuUnavailable, SubstituteSource

FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 60.0
LIST_EVERY_S = 5.0
"""Time between two looks for new GPUs and MIG slices, in seconds."""


class GpuList:
    """One reader a GPU. A source that does not open is opened again at `retry_at`, ever more rarely."""

    def __init__(self, source: GpuSource) -> None:
        self.readers: list[DeviceReader] = []
        self.failure: Failure | None = None
        """Why there is no GPU to read."""
        self.retry_at: float | None = None
        """When to open the source again, in monotonic seconds; None when it is open."""
        self._source = source
        self._substitute = source if isinstance(source, SubstituteSource) else None
        self._changing = source if isinstance(source, ChangingSource) else None
        self._pause_s = FIRST_RETRY_S / 2
        self._list_at = 0.0

    @property
    def note(self) -> Failure | None:
        """What the source reads instead of what it should."""
        return self._substitute.note if self._substitute else None

    def open(self, now: float) -> None:
        """Open the source; when that fails, `failure` says why."""
        try:
            devices = self._source.open()
        except GpuUnavailable as unavailable:
            self.failure = unavailable.failure
            self._pause_s = min(self._pause_s * 2, LONGEST_RETRY_S)
            self.retry_at = now + self._pause_s
            return
        self.failure = self.retry_at = None
        self._pause_s = FIRST_RETRY_S / 2
        self._list_at = now + LIST_EVERY_S
        self._follow(devices)

    def look_again(self, now: float) -> None:
        """Take in GPUs and slices that have come and let go of slices that are no more, if it is time."""
        if self.retry_at is not None or now < self._list_at or self._changing is None:
            return
        self._list_at = now + LIST_EVERY_S
        devices = self._changing.list_again()
        if devices is not None:
            self._follow(devices)

    def _follow(self, devices: tuple[GpuDevice, ...]) -> None:
        known = {reader.device: reader for reader in self.readers}
        self.readers = [known.get(device) or DeviceReader(self._source, device) for device in devices]
