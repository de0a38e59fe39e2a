"""Which requests of a length scan belong to which point."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kvtop.analysis.numbers import number
from kvtop.model.plan import ScanCell, ScanPlan
from kvtop.model.record import RequestRecord
from kvtop.model.text import clean_text

COLD = "cold"
REUSED = "reused"
CONTEXT_CODE = "context_length"
_CELL = re.compile(r"(\d{1,12})/(\w{1,32})/(\d{1,12})")


@dataclass(frozen=True, slots=True)
class ScanPoint:
    """One length with one kind of prefix, and the last record of each of its cells."""

    target_tokens: int
    prefix: str
    records: tuple[RequestRecord, ...] = ()

    @property
    def measured(self) -> tuple[RequestRecord, ...]:
        """The requests whose values may enter a median."""
        return tuple(record for record in self.records if record.measured)

    @property
    def failed(self) -> tuple[RequestRecord, ...]:
        """The requests that failed: counted, never averaged in."""
        return tuple(record for record in self.records if not record.measured)

    @property
    def label(self) -> str:
        """The point's name in a sentence, e.g. `4,096 cold`."""
        return f"{self.target_tokens:,} {self.prefix}"


def is_cell(record: RequestRecord) -> bool:
    """Return whether the record tells how a cell of the plan went.

    A calibration never does; a priming only by its failure, for then the reused request was not sent.
    """
    aside = record.tag == "calibrate" or (record.tag == "prime" and record.measured)
    return not aside and place_of(record) is not None


def cell_name(record: RequestRecord) -> str:
    """Return what to call a record's cell, cleaned: its cell, or its id where it has none."""
    return _cleaned(record.cell if isinstance(record.cell, str) and record.cell else record.id)


@lru_cache(maxsize=65_536)
def _cleaned(name: object) -> str:
    return clean_text(name, 100)


def failure_code(record: RequestRecord) -> str:
    """Return the code of a record's failure, cleaned; `unknown` where it has none."""
    return clean_text(getattr(record.failure, "code", None) or "unknown", 40)


def place_of(record: RequestRecord) -> tuple[int, str] | None:
    """Return target length and prefix of a record, from its cell or else from its own fields."""
    match = _CELL.fullmatch(record.cell) if isinstance(record.cell, str) else None
    if match:
        return int(match[1]), match[2]
    target = number(record.target_tokens)
    prefix = record.prefix or record.tag
    return (int(target), prefix) if target is not None and isinstance(prefix, str) else None


def scan_points(plan: ScanPlan, requests: Iterable[RequestRecord]) -> tuple[ScanPoint, ...]:
    """Return one point per length and prefix: the plan's in its order, then those it does not name.

    A cell measured twice (a resumed run) counts once: its last record wins.
    """
    last = {cell_name(record): record for record in requests if is_cell(record)}
    places: dict[tuple[int, str], list[RequestRecord]] = {
        (length, prefix): [] for length in plan.lengths for prefix in plan.prefixes
    }
    for record in last.values():
        place = place_of(record)
        if place:
            places.setdefault(place, []).append(record)
    return tuple(ScanPoint(target, prefix, tuple(found)) for (target, prefix), found in places.items())


def in_time_order(points: Iterable[ScanPoint]) -> list[RequestRecord]:
    """Return the measured requests of all points in the order they were sent."""
    records = [record for point in points for record in point.measured]
    return sorted(records, key=lambda record: number(record.ts) or 0.0)


def missing_cells(plan: ScanPlan, points: Sequence[ScanPoint]) -> list[ScanCell]:
    """Return the plan's cells that have no record at all, in sending order."""
    seen = {cell_name(record) for point in points for record in point.records}
    return [cell for cell in plan.cells() if cell.id not in seen]
