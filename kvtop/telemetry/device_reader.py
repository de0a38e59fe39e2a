"""One GPU's last readings, their ages, and when to ask again after a failure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from kvtop.model.failure import Failure
from kvtop.model.reading import NO_AGES, NO_FAULTS, GpuDevice, GpuReading
from kvtop.telemetry.gpu.source import (
    AGE,
    MEMORY,
    DeviceLost,
    FieldMissing,
    GpuProcess,
    GpuSource,
    Query,
    UnifiedMemory,
)

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 30.0
PERMANENT_PAUSE_S = 300.0
"""Pause after an answer such as Not Supported, which only a new driver would change."""

_SLACK_S = 1e-6


@dataclass(slots=True)
class _Pace:
    """When one query may be asked next, in monotonic seconds."""

    next_at: float = float("-inf")
    pause_s: float = 0.0


class DeviceReader:
    """Asks one GPU. A failing query backs off alone; a lost GPU is looked for again, ever more rarely.

    Times are monotonic seconds: `deadline` is when a tick was due, `now` when it really is.
    """

    def __init__(self, source: GpuSource, device: GpuDevice) -> None:
        self.device = device
        self.failure: Failure | None = None
        """What broke in the source itself, while it tells nothing."""
        self._source = source
        self._values: dict[str, float] = {}
        self._read_at: dict[str, float] = {}
        self._faults: dict[str, str] = {}
        self._paces: dict[str, _Pace] = {}
        self._loss = _Pace()
        self._lost = False
        self._lost_ts: float | None = None
        self._unified = False
        self._ts = 0.0
        self._at = 0.0
        self._late_s = 0.0

    def read_memory(self, deadline: float, now: float, ts: float) -> None:
        """Begin a tick at `now` (Unix time `ts`): look for a lost GPU if it is time, read its memory."""
        self._at, self._ts, self._late_s = now, ts, max(now - deadline, 0.0)
        if self._lost and not self._found_again(deadline):
            return
        self.read(MEMORY, deadline, now)

    def read(self, query: Query, deadline: float, now: float) -> None:
        """Ask `query` if it is due; keep the answer or the reason why there is none."""
        if not self.is_due(query, deadline):
            return
        try:
            values = self._source.read(self.device, query)
        except UnifiedMemory as missing:
            self._share(missing, deadline)
        except FieldMissing as missing:
            self._miss(query, missing, deadline)
        except DeviceLost as loss:
            self._lose(loss, deadline)
        else:
            self._keep(query, values, deadline, now)

    def read_processes(self, query: Query, deadline: float) -> tuple[GpuProcess, ...] | None:
        """Return the processes on this GPU, or None when there is no answer."""
        try:
            listed = self._source.processes(self.device)
        except FieldMissing as missing:
            self._miss(query, missing, deadline)
            self._add_up((), missing.reason)
            return None
        except DeviceLost as loss:
            self._lose(loss, deadline)
            return None
        self._succeed(query, deadline)
        self._add_up(listed)
        return listed

    def is_due(self, query: Query, deadline: float) -> bool:
        """Whether `query` may be asked in the tick of `deadline`."""
        pace = self._paces.get(query.name)
        return not self._lost and (pace is None or deadline + _SLACK_S >= pace.next_at)

    def reading(self, source_name: str) -> GpuReading:
        """Return all that is known now."""
        return GpuReading(
            ts=self._ts,
            device=self.device,
            mem_used_bytes=self._whole("mem_used_bytes"),
            mem_total_bytes=self._whole("mem_total_bytes"),
            util_pct=self._values.get("util_pct"),
            mem_bw_util_pct=self._values.get("mem_bw_util_pct"),
            power_w=self._values.get("power_w"),
            temp_c=self._values.get("temp_c"),
            sm_clock_mhz=self._whole("sm_clock_mhz"),
            throttle_reasons=self._whole("throttle_reasons"),
            late_s=self._late_s,
            ages_s=self._ages(),
            faults=MappingProxyType(dict(self._faults)) if self._faults else NO_FAULTS,
            source=f"{source_name}-processes" if self._unified else source_name,
            unified=self._unified,
            lost_ts=self._lost_ts,
        )

    def _found_again(self, deadline: float) -> bool:
        if deadline + _SLACK_S < self._loss.next_at:
            return False
        try:
            self.device = self._source.recover(self.device)
        except DeviceLost as loss:
            self._lose(loss, deadline)
            return False
        self._lost = False
        self._paces.clear()
        return True

    def _keep(self, query: Query, values: Mapping[str, float], deadline: float, now: float) -> None:
        self._answered()
        self._succeed(query, deadline)
        if query is MEMORY:
            self._unified = False
            self._ts -= values.get(AGE, 0.0)
        for field in query.fields:
            self._values[field] = values[field]
            self._read_at[field] = now - values.get(AGE, 0.0)

    def _answered(self) -> None:
        self._faults.pop("device", None)
        self._loss.pause_s = 0.0
        self._lost_ts = self.failure = None

    def _share(self, missing: UnifiedMemory, deadline: float) -> None:
        """Note that this GPU uses the host's memory: what is used is then the sum over its processes."""
        self._answered()
        if not self._unified:
            self._miss(MEMORY, missing, deadline)
        self._unified = True
        self._paces[MEMORY.name] = _Pace(deadline + PERMANENT_PAUSE_S)

    def _add_up(self, listed: Sequence[GpuProcess], reason: str | None = None) -> None:
        if not self._unified:
            return
        sizes = [process.gpu_mem_bytes for process in listed if process.gpu_mem_bytes is not None]
        if reason is None and (not sizes or len(sizes) < len(listed)):
            reason = "unified, and the driver tells no size for some or all of its processes"
        if reason is not None:
            self._values.pop("mem_used_bytes", None)
            self._faults["mem_used_bytes"] = reason
            return
        self._values["mem_used_bytes"] = sum(sizes)
        self._read_at["mem_used_bytes"] = self._at
        self._faults.pop("mem_used_bytes", None)

    def _succeed(self, query: Query, deadline: float) -> None:
        self._paces[query.name] = _Pace(deadline + query.every_s)
        for field in query.fields:
            self._faults.pop(field, None)

    def _miss(self, query: Query, missing: FieldMissing, deadline: float) -> None:
        pace = self._paces.setdefault(query.name, _Pace())
        pace.pause_s = PERMANENT_PAUSE_S if missing.permanent else _longer(pace.pause_s)
        pace.next_at = deadline + max(pace.pause_s, query.every_s)
        for field in query.fields:
            self._values.pop(field, None)
            self._faults[field] = missing.reason

    def _lose(self, loss: DeviceLost, deadline: float) -> None:
        self._lost = True
        self._lost_ts = self._lost_ts or self._ts
        self.failure = loss.failure
        self._loss.pause_s = _longer(self._loss.pause_s)
        self._loss.next_at = deadline + self._loss.pause_s
        self._values.clear()
        self._faults = {"device": loss.reason}

    def _whole(self, field: str) -> int | None:
        value = self._values.get(field)
        return None if value is None else int(value)

    def _ages(self) -> Mapping[str, float]:
        ages = {field: self._at - self._read_at[field] for field in self._values}
        older = {field: age for field, age in ages.items() if age > 0}
        return MappingProxyType(older) if older else NO_AGES


def _longer(pause_s: float) -> float:
    return min(max(pause_s * 2, FIRST_PAUSE_S), LONGEST_PAUSE_S)
