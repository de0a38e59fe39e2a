"""Running a scan on a chat server, with a log that only remembers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kvtop.api.client import ApiClient
from kvtop.experiments.outcome import Outcome
from kvtop.experiments.scan import LengthScan
from kvtop.model.endpoint import Endpoint
from kvtop.model.plan import ScanPlan
from kvtop.model.record import RequestRecord
from tests.experiments.chat_server import MODEL, ChatServer


@dataclass
class MemoryLog:
    """Implements `kvtop.experiments.log.ExperimentLog`."""

    announced: list[dict[str, Any]] = field(default_factory=list)
    records: list[RequestRecord] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    steps: list[tuple[int, int, int]] = field(default_factory=list)
    context: dict[str, Any] = field(default_factory=dict)
    analyses: int = 0

    def cell(self, cell: str, **data: Any) -> None:
        self.announced.append({"cell": cell, **data})

    def request(self, record: RequestRecord) -> None:
        self.records.append(record)

    def note(self, code: str, text: str, **data: Any) -> None:
        self.notes.append({"code": code, "text": text, **data})

    def progress(
        self, done: int, total: int, elapsed_s: float, left_s: float | None, spent_tokens: int
    ) -> None:
        self.steps.append((done, total, spent_tokens))

    def remember(self, **context: Any) -> None:
        self.context.update(context)

    def analyse(self) -> None:
        self.analyses += 1

    @property
    def sent(self) -> list[tuple[str, str]]:
        """Tag and cell of every request after the calibration, in order."""
        return [(record.tag, record.cell) for record in self.records if record.tag != "calibrate"]

    @property
    def codes(self) -> list[str]:
        return [note["code"] for note in self.notes]

    def measured(self, cell: str) -> list[RequestRecord]:
        return [record for record in self.records if record.cell == cell and record.measured]


@dataclass
class Naps:
    """Stands in for `asyncio.sleep`, and keeps how long was asked for."""

    asked_s: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.asked_s.append(seconds)


def plan(*lengths: int, **changes: Any) -> ScanPlan:
    return ScanPlan(**{"lengths": lengths, "repeats": 1, "max_tokens": 4, "seed": 7, **changes})


async def scan(
    server: ChatServer, wanted: ScanPlan, *, endpoint: dict[str, Any] | None = None, **options: Any
) -> tuple[Outcome, MemoryLog]:
    """Carry out `wanted` and return how it ended and all that was told."""
    log = MemoryLog()
    options.setdefault("sleep", Naps())
    asked = Endpoint(server.url, **{"model": MODEL, **(endpoint or {})})
    async with ApiClient(asked, timeout_s=30.0) as client:
        outcome = await LengthScan(wanted, client, log, **options).run()
    return outcome, log
