"""The evidence of a finding as rows of a table: nested values flattened, numbers with their unit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kvtop.model.quantity import UNKNOWN, format_bytes, format_seconds
from kvtop.model.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_ROWS = 200
_DEEPEST = 6


def evidence_rows(evidence: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return name and value of each entry, cleaned, at most `MOST_ROWS`; the last tells of those left out."""
    rows = [(clean_text(name, 100), value) for name, value in _flat(evidence, "", "", 0)]
    if len(rows) > MOST_ROWS:
        rows = [*rows[: MOST_ROWS - 1], ("…", f"{len(rows) - MOST_ROWS + 1} more")]
    return tuple(rows)


def _flat(value: Any, name: str, measure: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield rows. `measure` is the last key that names a unit."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, inner in value.items():
            unit = str(key) if _unit(str(key)) else measure
            yield from _flat(inner, f"{name} {key}".strip(), unit, depth + 1)
    elif isinstance(value, list | tuple) and not any(isinstance(entry, dict | list) for entry in value):
        yield name, ", ".join(_shown(entry, measure) for entry in value) or UNKNOWN
    elif isinstance(value, list | tuple) and depth < _DEEPEST:
        for index, inner in enumerate(value, 1):
            yield from _flat(inner, f"{name} {index}".strip(), measure, depth + 1)
    else:
        yield name, _shown(value, measure)


def _unit(name: str) -> str | None:
    return next((unit for unit in ("bytes", "s") if name == unit or name.endswith(f"_{unit}")), None)


def _shown(value: Any, measure: str) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, bool) or not isinstance(value, int | float):
        return clean_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return UNKNOWN
    match _unit(measure):
        case "bytes":
            return format_bytes(value)
        case "s":
            return format_seconds(value)
        case _:
            return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
