"""What the findings of a length scan are drawn from."""

from __future__ import annotations

from dataclasses import dataclass

from kvtop.analysis.cells import ScanPoint
from kvtop.analysis.lateness import Lateness
from kvtop.analysis.verdict import Verdict
from kvtop.model.plan import ScanPlan
from kvtop.model.record import RequestRecord

API = "api"


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

    @property
    def live(self) -> bool:
        """Whether the run still goes on, so that missing cells mean nothing yet."""
        return self.state == "running"

    @property
    def measured(self) -> tuple[RequestRecord, ...]:
        """The measured requests of all points."""
        return tuple(record for point in self.points for record in point.measured)

    @property
    def with_values(self) -> tuple[ScanPoint, ...]:
        """The points that have a measured request."""
        return tuple(point for point in self.points if point.measured)
