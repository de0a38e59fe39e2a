"""What the findings of a length scan are drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kvtop.analysis.cells import CONTEXT_CODE, ScanPoint, failure_code
from kvtop.analysis.lateness import Lateness
from kvtop.analysis.verdict import Verdict
from kvtop.model.plan import ScanPlan
from kvtop.model.record import RequestRecord

API = "api"
NO_LENGTHS: Mapping[int, int | None] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ScanFacts:
    """A length scan, sorted and judged."""

    plan: ScanPlan
    path: str
    state: str
    simulated: bool
    records: tuple[RequestRecord, ...]
    """All records, calibration and superseded cells included."""
    points: tuple[ScanPoint, ...]
    memory: Verdict | None = None
    """None where memory was not watched."""
    lateness: Lateness | None = None
    spent_tokens: int | None = None
    over_context: Mapping[int, int | None] = field(default_factory=lambda: NO_LENGTHS)
    """Lengths that do not fit the context, and the limit in tokens where one is known; sent or not."""

    @property
    def live(self) -> bool:
        """Whether the run still goes on, so that missing cells mean nothing yet."""
        return self.state == "running"

    @property
    def measured(self) -> tuple[RequestRecord, ...]:
        """The measured requests of all points."""
        return tuple(record for point in self.points for record in point.measured)

    @property
    def unfit_lengths(self) -> frozenset[int]:
        """The lengths that no resumed run will measure: noted as too long, or refused by the server."""
        refused = (p.target_tokens for p in self.points for r in p.failed if failure_code(r) == CONTEXT_CODE)
        return frozenset((*self.over_context, *refused))

    @property
    def with_values(self) -> tuple[ScanPoint, ...]:
        """The points that have a measured request."""
        return tuple(point for point in self.points if point.measured)
