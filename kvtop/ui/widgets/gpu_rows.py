"""What one row says about one GPU, in words and numbers, without its place on the screen."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kvtop.model.quantity import GIB, UNKNOWN
from kvtop.ui.gpu_names import gpu_index, short_name

if TYPE_CHECKING:
    from kvtop.model.reading import GpuReading
    from kvtop.telemetry.sample import SamplerStatus
    from kvtop.ui.messages import GpuSnapshot

STALE_AFTER_S = 3.0
"""Three periods of the slowest pace, 1 Hz."""
SMALLEST_CHANGE_BYTES = GIB // 200
"""Changes of memory below this are not told: they would read 0.00."""

RowState = Literal["live", "stale", "lost"]


@dataclass(frozen=True, slots=True)
class GpuRow:
    """One GPU as shown. Texts of unknown values are a dash."""

    uuid: str
    index: str
    name: str
    fraction: float | None
    """Share of the memory in use."""
    memory: str
    delta: str
    load: str
    power: str
    temp: str
    state: RowState
    note: str
    """Why the row is not live: `9 s old`, `lost 12:03:44`."""


class GpuRows:
    """Makes rows of snapshots and remembers the last value of each GPU, for when it is lost."""

    def __init__(self) -> None:
        self._last_good: dict[str, GpuReading] = {}

    def of(self, snapshot: GpuSnapshot) -> tuple[GpuRow, ...]:
        """Return a row for each GPU of the snapshot, in its order."""
        old = stale_note(snapshot.status)
        return tuple(self._row(reading, snapshot, old) for reading in snapshot.readings)

    def last_good(self, uuid: str) -> GpuReading | None:
        """Return the last reading of a GPU that had memory in it."""
        return self._last_good.get(uuid)

    def _row(self, reading: GpuReading, snapshot: GpuSnapshot, old: str) -> GpuRow:
        uuid = reading.device.uuid
        if "device" in reading.faults:
            return _lost_row(reading, self._last_good.get(uuid))
        self._last_good[uuid] = reading
        return GpuRow(
            uuid,
            index=gpu_index(reading.device),
            name=_name(reading),
            fraction=_fraction(reading),
            memory=_memory(reading),
            delta=_delta(reading.mem_used_bytes, snapshot.base_bytes.get(uuid)),
            load=_number(reading.util_pct, "%"),
            power=_number(reading.power_w, "W"),
            temp=_number(reading.temp_c, "°C"),
            state="stale" if old else "live",
            note=old,
        )


def stale_note(status: SamplerStatus) -> str:
    """Return the age of the readings when they are too old to be taken for current, else nothing."""
    if status.age_s is None:
        return ""
    if status.age_s <= STALE_AFTER_S and status.state not in ("hanging", "failed", "stopped"):
        return ""
    if status.age_s >= 120:
        return f"{status.age_s // 60:.0f} min old"
    return f"{status.age_s // 1:.0f} s old"


def _lost_row(reading: GpuReading, last: GpuReading | None) -> GpuRow:
    since = "" if reading.lost_ts is None else time.strftime("%H:%M:%S", time.localtime(reading.lost_ts))
    return GpuRow(
        reading.device.uuid,
        index=gpu_index(reading.device),
        name=_name(reading),
        fraction=_fraction(last) if last else None,
        memory=_memory(last) if last else UNKNOWN,
        delta="",
        load=UNKNOWN,
        power=UNKNOWN,
        temp=UNKNOWN,
        state="lost",
        note=f"lost {since}".strip(),
    )


def _name(reading: GpuReading) -> str:
    return f"{'SIM ' if reading.source == 'simulated' else ''}{short_name(reading.device.name)}"


def _fraction(reading: GpuReading) -> float | None:
    used, total = reading.mem_used_bytes, reading.mem_total_bytes
    return used / total if used is not None and total else None


def _memory(reading: GpuReading) -> str:
    used = UNKNOWN if reading.mem_used_bytes is None else f"{reading.mem_used_bytes / GIB:.1f}"
    if reading.mem_total_bytes:
        return f"{used}/{reading.mem_total_bytes / GIB:.1f} GiB"
    words = f"{used} GiB" if used != UNKNOWN else UNKNOWN
    return f"{words} unified" if reading.unified else words


def _delta(used: int | None, base: int | None) -> str:
    if used is None or base is None or abs(used - base) < SMALLEST_CHANGE_BYTES:
        return ""
    change = (used - base) / GIB
    return f"{change:+.2f}" if abs(change) < 10 else f"{change:+.1f}"


def _number(value: float | None, unit: str) -> str:
    return UNKNOWN if value is None else f"{value:.0f}{unit}"
