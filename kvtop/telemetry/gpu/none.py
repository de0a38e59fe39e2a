"""The source of a host without readable GPUs."""

from __future__ import annotations

from kvtop.model.failure import Failure
from kvtop.model.reading import GpuDevice
from kvtop.telemetry.gpu.source import DeviceLost, GpuProcess, GpuUnavailable, Query, Values


class NoGpu:
    """No GPU at all: `open` says why."""

    name = "none"

    def __init__(self, failure: Failure) -> None:
        self.failure = failure

    def open(self) -> tuple[GpuDevice, ...]:
        """Raise GpuUnavailable with the reason."""
        raise GpuUnavailable(self.failure)

    def refresh(self) -> None:
        """Do nothing."""

    def read(self, device: GpuDevice, query: Query) -> Values:  # noqa: ARG002 - the protocol's arguments
        """Raise DeviceLost: there is none."""
        raise DeviceLost(self.failure.text)

    def processes(self, device: GpuDevice) -> tuple[GpuProcess, ...]:  # noqa: ARG002 - as above
        """Raise DeviceLost: there is none."""
        raise DeviceLost(self.failure.text)

    def recover(self, device: GpuDevice) -> GpuDevice:  # noqa: ARG002 - as above
        """Raise DeviceLost: there is none."""
        raise DeviceLost(self.failure.text)

    def close(self) -> None:
        """Do nothing."""
