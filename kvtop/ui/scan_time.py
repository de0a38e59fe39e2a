"""How long a scan will take, judged by an earlier run on the same endpoint."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from kvtop.model.failure import KvtopError
from kvtop.model.plan import DEFAULT_MAX_TOKENS
from kvtop.runs.manifest import Manifest, read_manifest
from kvtop.ui.feeds.newest_runs import NewestRuns
from kvtop.ui.feeds.request_tail import RequestTail

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kvtop.model.plan import ScanPlan
    from kvtop.model.record import RequestRecord
    from kvtop.runs.layout import RunFolder

MOST_RUNS = 40
"""How many of the newest runs are looked at."""
_MEASURED = frozenset({"cold", "reused"})

Point = tuple[int, float]
"""Prompt tokens and the seconds to the first token, the median."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a scan is to be sent to, as a run folder names it. `model` None fits any."""

    base_url: str = ""
    model: str | None = None
    demo: str | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast an endpoint was in one run."""

    run_id: str
    cold: tuple[Point, ...]
    reused: tuple[Point, ...]
    decode_tok_s: float | None
    answer_tokens: int
    gap_s: float
    """Time between the end of one request and the next one."""

    def seconds(self, plan: ScanPlan) -> float:
        """Return how long `plan` takes, in seconds: times between known lengths are interpolated."""
        answer_s = self._answer_s(plan.max_tokens or self.answer_tokens)
        total_s = 2 * (self.gap_s + self._answer_s(DEFAULT_MAX_TOKENS))
        for length in plan.lengths:
            cold_s = _at(self.cold or self.reused, length)
            reused_s = _at(self.reused or self.cold, length)
            once = {"cold": cold_s, "reused": reused_s}
            primes_s = cold_s + self.gap_s if plan.prefix == "reused" else 0.0
            each_s = sum(once[prefix] + answer_s + self.gap_s for prefix in plan.prefixes)
            total_s += plan.repeats * (each_s + primes_s)
        return total_s

    def _answer_s(self, tokens: int) -> float:
        return tokens / self.decode_tok_s if self.decode_tok_s else 0.0


def earlier_pace(root: Path, target: Target) -> Pace | None:
    """Return the pace of the newest scan of `target` that measured something. Reads files: for a thread."""
    try:
        folders = NewestRuns(root).folders()
    except KvtopError:
        return None
    for folder in folders[:MOST_RUNS]:
        pace = _pace_of(folder, target)
        if pace is not None:
            return pace
    return None


def _pace_of(folder: RunFolder, target: Target) -> Pace | None:
    try:
        if not _fits(read_manifest(folder), target):
            return None
        news = RequestTail(folder).read()
    except KvtopError:
        return None
    records = [record for record in news.records if record.measured] if news else []
    measured = [record for record in records if record.tag in _MEASURED]
    cold, reused = (_points(measured, prefix) for prefix in ("cold", "reused"))
    if not cold and not reused:
        return None
    answers = [record.completion_tokens for record in measured if record.completion_tokens]
    speeds = [record.decode_tok_s for record in measured if record.decode_tok_s]
    gaps = [max(after.ts - before.end_ts, 0.0) for before, after in pairwise(records)]
    return Pace(
        folder.id,
        cold,
        reused,
        statistics.median(speeds) if speeds else None,
        round(statistics.median(answers)) if answers else DEFAULT_MAX_TOKENS,
        statistics.median(gaps) if gaps else 0.0,
    )


def _fits(manifest: Manifest, target: Target) -> bool:
    if manifest.kind != "scan" or manifest.demo != target.demo:
        return False
    if target.demo is not None:
        return True
    measured_url = str(manifest.endpoint.get("base_url", "")).rstrip("/")
    return measured_url == target.base_url.rstrip("/") and target.model in (None, manifest.model)


def _points(records: Sequence[RequestRecord], tag: str) -> tuple[Point, ...]:
    times: dict[int, list[float]] = {}
    for record in records:
        if record.tag == tag and record.prompt_tokens and record.ttft_s is not None:
            length = record.target_tokens or record.prompt_tokens
            times.setdefault(length, []).append(record.ttft_s)
    return tuple((length, statistics.median(found)) for length, found in sorted(times.items()))


def _at(points: Sequence[Point], length: int) -> float:
    """Return the time at `length`: on a line between two points, in proportion outside of them."""
    low = [point for point in points if point[0] <= length]
    high = [point for point in points if point[0] >= length]
    if not low:
        return high[0][1] * length / high[0][0]
    if not high:
        return low[-1][1] * length / low[-1][0]
    (x0, y0), (x1, y1) = low[-1], high[0]
    return y0 if x0 == x1 else y0 + (y1 - y0) * (length - x0) / (x1 - x0)
