"""Lines of `nvidia-smi --query-gpu=… --format=csv,noheader,nounits`, read into our units.

Field names and words: `nvidia-smi --help-query-gpu`. The name comes last, because it may hold a comma.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from kvtop.model.quantity import MIB
from kvtop.model.text import clean_text

FIELDS = (
    "timestamp",
    "count",
    "index",
    "uuid",
    "pci.bus_id",
    "memory.used",
    "memory.total",
    "utilization.gpu",
    "utilization.memory",
    "power.draw",
    "temperature.gpu",
    "clocks.sm",
    "clocks_event_reasons.active",
    "name",
)
OLDER_NAMES = {"clocks_event_reasons.active": "clocks_throttle_reasons.active"}
"""What drivers before 535 call a field."""
_NEWER_NAMES = {older: newer for newer, older in OLDER_NAMES.items()}

_OURS = {
    "memory.used": ("mem_used_bytes", MIB),
    "memory.total": ("mem_total_bytes", MIB),
    "utilization.gpu": ("util_pct", 1),
    "utilization.memory": ("mem_bw_util_pct", 1),
    "power.draw": ("power_w", 1),
    "temperature.gpu": ("temp_c", 1),
    "clocks.sm": ("sm_clock_mhz", 1),
    "clocks_event_reasons.active": ("throttle_reasons", 1),
}
_REASONS = {
    "not supported": "not supported by this GPU",
    "insufficient permissions": "not permitted for this user",
    "n/a": "nvidia-smi has no value for it ([N/A])",
}
_LOST = frozenset({"gpu is lost", "gpu requires reset"})
_UNKNOWN_FIELD = re.compile(r'Field "([^"]+)" is not a valid field to query')
_NO_HANDLE = re.compile(
    r"device handle for GPU\s*(?:\d+: )?([0-9A-F]{3,8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-9A-F]): *(.+)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SmiRow:
    """One GPU as one line tells it; what identifies it may be missing for a lost one."""

    index: int | None
    uuid: str | None
    bus_id: str | None
    name: str | None
    values: Mapping[str, float]
    """By field name of `GpuReading`, in its unit."""
    reasons: Mapping[str, str]
    """Why the other fields are missing."""
    lost: str | None = None
    """Why the whole GPU tells nothing."""
    ts: float | None = None
    """When nvidia-smi took it, in Unix seconds."""
    count: int | None = None
    """How many GPUs nvidia-smi goes through."""


def parse_line(line: str, fields: Sequence[str]) -> SmiRow | None:
    """Return the row of a line that answers `fields`, None for a line that is something else."""
    handle = _NO_HANDLE.search(line)
    if handle:
        reason = f"nvidia-smi cannot reach it: {clean_text(handle[2])}"
        return SmiRow(None, None, handle[1], None, {}, {}, lost=reason)
    cells = [cell.strip() for cell in line.split(",", len(fields) - 1)]
    if len(cells) != len(fields):
        return None
    row = dict(zip((_NEWER_NAMES.get(field, field) for field in fields), cells, strict=True))
    return _row(row)


def unknown_field(line: str) -> str | None:
    """Return the field that this nvidia-smi does not know, when the line complains of one."""
    found = _UNKNOWN_FIELD.search(line)
    return found[1] if found else None


def _row(row: Mapping[str, str]) -> SmiRow:
    values: dict[str, float] = {}
    reasons: dict[str, str] = {}
    for field, (ours, factor) in _OURS.items():
        number = _number(row.get(field, ""))
        if number is not None and _is_possible(ours, number):
            values[ours] = int(number * factor) if factor == MIB else number
        else:
            reasons[ours] = _reason(row.get(field))
    return SmiRow(
        _whole(row.get("index", "")),
        _identity(row.get("uuid", ""), ("GPU-", "MIG-")),
        _identity(row.get("pci.bus_id", ""), tuple("0123456789ABCDEFabcdef")),
        None if _word(row["name"]) in _LOST else clean_text(row["name"]) or None,
        values,
        reasons,
        _loss(row),
        _timestamp(row.get("timestamp", "")),
        _whole(row.get("count", "")),
    )


def _number(cell: str) -> float | None:
    try:
        number = float(int(cell, 16)) if cell.lower().startswith("0x") else float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _is_possible(ours: str, number: float) -> bool:
    return number >= 0 and not (ours.endswith("_pct") and number > 100)


def _whole(cell: str) -> int | None:
    return int(cell) if cell.isdecimal() and len(cell) < 6 else None


def _identity(cell: str, beginnings: tuple[str, ...]) -> str | None:
    return clean_text(cell) if cell.startswith(beginnings) else None


def _word(cell: str) -> str:
    return cell.strip(" []").lower()


def _reason(cell: str | None) -> str:
    if cell is None:
        return "this nvidia-smi does not know the field"
    return _REASONS.get(_word(cell), f"nvidia-smi says {clean_text(cell, 60) or 'nothing'}")


def _loss(row: Mapping[str, str]) -> str | None:
    if any(_word(cell) in _LOST for cell in row.values()):
        return "GPU is lost: it fell off the bus or must be reset; see the kernel log for Xid messages"
    return None


def _timestamp(cell: str) -> float | None:
    try:
        return datetime.strptime(cell, "%Y/%m/%d %H:%M:%S.%f").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
