"""NVIDIA GPUs through one long-lived nvidia-smi, where NVML cannot be loaded."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from kvtop.model.failure import Failure
from kvtop.model.reading import GpuDevice
from kvtop.telemetry.gpu.smi_child import Arrival, SmiChild
from kvtop.telemetry.gpu.smi_rows import FIELDS, OLDER_NAMES, SmiRow
from kvtop.telemetry.gpu.source import (
    AGE,
    DeviceLost,
    FieldMissing,
    GpuProcess,
    GpuUnavailable,
    Query,
    Values,
    select_devices,
)

PROGRAM = "nvidia-smi"
PERIOD_MS = 200
"""Time between two rows of a GPU. Each asks all fields of all GPUs, under the driver's lock."""
FIRST_ROW_S = 9.0
"""Longest wait for the first row: the driver may have to load, and the row to leave a full buffer."""
SILENT_S = 15.0
"""Without a row for so long nvidia-smi counts as hanging; a buffer of 4 KiB holds one GPU's rows of 6 s."""
_SETTLE_S = 1.0


class NvidiaSmiSource:
    """The GPUs as nvidia-smi prints them, by UUID. It lists no processes and no MIG slices."""

    name = "nvidia-smi"

    def __init__(
        self,
        gpus: Sequence[str] = (),
        *,
        program: str = PROGRAM,
        first_row_s: float = FIRST_ROW_S,
        silent_s: float = SILENT_S,
    ) -> None:
        self._gpus = tuple(gpus)
        self._program = program
        self._first_row_s = first_row_s
        self._silent_s = silent_s
        self._fields: tuple[str, ...] = FIELDS
        self._child: SmiChild | None = None
        self._started_at = 0.0
        self._hung_before = False

    def open(self) -> tuple[GpuDevice, ...]:
        """Start nvidia-smi and wait for one row of each GPU. Raises GpuUnavailable."""
        self._hung_before = False
        child = self._start()
        child.wait_for_round(self._first_row_s, _SETTLE_S)
        while child.unknown_field in self._fields:
            self._forget(child.unknown_field)
            child = self._start()
            child.wait_for_round(self._first_row_s, _SETTLE_S)
        devices = list(_devices(child.rows))
        if not devices:
            failure = _ended(child) if child.has_ended else _silent(self._first_row_s)
            self.close()
            raise GpuUnavailable(failure)
        try:
            return select_devices(devices, self._gpus)
        except GpuUnavailable:
            self.close()
            raise

    def refresh(self) -> None:
        """Do nothing: the reading thread always has the last row."""

    def read(self, device: GpuDevice, query: Query) -> Values:
        """Return the fields of `query` as last printed, with their age. Raises FieldMissing or DeviceLost."""
        arrival = self._last(device)
        row = arrival.row
        if row.lost:
            raise DeviceLost(row.lost)
        for field in query.fields:
            if field in row.reasons:
                raise FieldMissing(row.reasons[field])
        return {**row.values, AGE: max(time.monotonic() - arrival.taken_at, 0.0)}

    def processes(self, device: GpuDevice) -> tuple[GpuProcess, ...]:  # noqa: ARG002 - the protocol's argument
        """Raise FieldMissing: that would be a second nvidia-smi."""
        raise FieldMissing("processes are read through NVML only", permanent=True)

    def recover(self, device: GpuDevice) -> GpuDevice:
        """Return `device` when it is printed again; start nvidia-smi again if it ended, once if it hung.

        Raises DeviceLost.
        """
        child = self._child
        if child is None or child.has_ended:
            self._restart()
        elif self._is_silent(child) and not self._hung_before:
            self._hung_before = True
            self._restart()
        arrival = self._last(device)
        if arrival.row.lost:
            raise DeviceLost(arrival.row.lost)
        return device

    def close(self) -> None:
        """Kill nvidia-smi."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def _start(self) -> SmiChild:
        self.close()
        try:
            self._child = SmiChild(self._program, self._fields, PERIOD_MS)
        except OSError as error:
            raise GpuUnavailable(_missing(error)) from error
        self._started_at = time.monotonic()
        return self._child

    def _restart(self) -> None:
        try:
            self._start()
        except GpuUnavailable as unavailable:
            raise DeviceLost(unavailable.failure.text, unavailable.failure) from unavailable

    def _forget(self, field: str) -> None:
        """Ask for `field` by its older name from now on, or no more."""
        replacement = (OLDER_NAMES[field],) if field in OLDER_NAMES else ()
        at = self._fields.index(field)
        self._fields = (*self._fields[:at], *replacement, *self._fields[at + 1 :])

    def _last(self, device: GpuDevice) -> Arrival:
        child = self._child
        if child is None or child.has_ended:
            failure = _ended(child) if child else _missing(None)
            raise DeviceLost(failure.text, failure)
        if self._is_silent(child):
            failure = _silent(time.monotonic() - self._last_sign(child))
            raise DeviceLost(failure.text, failure)
        mine = [arrival for arrival in child.rows if _is_of(arrival.row, device)]
        if not mine:
            raise DeviceLost("nvidia-smi prints no row for this GPU")
        return max(mine, key=lambda arrival: arrival.read_at)

    def _is_silent(self, child: SmiChild) -> bool:
        return time.monotonic() - self._last_sign(child) > self._silent_s

    def _last_sign(self, child: SmiChild) -> float:
        return max((arrival.read_at for arrival in child.rows), default=self._started_at)


def _devices(arrivals: Iterable[Arrival]) -> Iterable[GpuDevice]:
    rows = [arrival.row for arrival in arrivals]
    for row in sorted(rows, key=lambda row: (row.index is None, row.index or 0)):
        if row.uuid is not None and row.index is not None:
            yield GpuDevice(row.index, row.uuid, row.name or f"GPU {row.index}", row.bus_id)


def _is_of(row: SmiRow, device: GpuDevice) -> bool:
    """Whether `row` tells of `device`; a lost GPU may have lost its UUID first."""
    if row.uuid is not None:
        return row.uuid == device.uuid
    if row.bus_id is not None and device.bus_id is not None:
        return device.bus_id.upper().endswith(row.bus_id.upper())
    return row.index == device.index


def _missing(error: OSError | None) -> Failure:
    why = f": {error.strerror}" if error is not None and error.strerror else ""
    return Failure.of(
        "nvidia_smi_missing",
        f"nvidia-smi does not start{why}.",
        "Install the NVIDIA driver, or pass its tools into the container.",
    )


def _ended(child: SmiChild) -> Failure:
    return Failure.of(
        "nvidia_smi_ended",
        f"nvidia-smi {child.last_words}.",
        "Run nvidia-smi by hand; it is started again from time to time.",
    )


def _silent(for_s: float) -> Failure:
    return Failure.of(
        "nvidia_smi_hangs",
        f"nvidia-smi has printed nothing for {for_s:.0f} s.",
        "Run nvidia-smi by hand; if it hangs there too, look for Xid messages in the kernel log and reboot.",
    )
