"""The analysis of a length scan: the document `kvtop.scan/1`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvtop.analysis.cells import ScanPoint, scan_points
from kvtop.analysis.facts import API, ScanFacts
from kvtop.analysis.findings import scan_findings
from kvtop.analysis.lateness import sampler_lateness
from kvtop.analysis.memory import find_places, watch
from kvtop.analysis.numbers import known_fields, median, number, whole
from kvtop.analysis.plateau import Window
from kvtop.analysis.request_findings import failure_code
from kvtop.analysis.tables import gpu_table, process_table
from kvtop.analysis.verdict import Verdict, judge_places
from kvtop.model.endpoint import Price
from kvtop.model.plan import ScanPlan
from kvtop.model.record import RequestRecord

SCHEMA = "kvtop.scan/1"


def analyse_scan(
    plan: ScanPlan,
    requests: Sequence[RequestRecord],
    *,
    run: str,
    path: str,
    gpu_csv: bytes,
    processes_csv: bytes,
    base_window: Window | None,
    price: Price | None,
    simulated: bool,
    state: str,
) -> dict[str, Any]:
    """Return the document of a length scan, finished or going on. Nothing in the records or tables raises.

    `path` is `local` or `api`, `base_window` the idle time before the first measured request in Unix
    seconds, `state` a `RunState`. The result is plain JSON without NaN:

    * `schema`, `run`, `path`, `state`, `simulated`
    * `points`: one per length and prefix, of the plan or met in the records: `target_tokens`, `prefix`,
      medians over measured repeats (`prompt_tokens`, `ttft_s`, `latency_s`, `decode_tok_s`,
      `cached_tokens`, `mem_delta_bytes`), `ttft_min_s`, `ttft_max_s`, `kv_bytes` (null: no counter),
      `mem_origin`, `n`, `failed`, `failures` (codes). Null is unknown.
    * `kv_slope`: `bytes_per_token`, `ci_low`, `ci_high` (95 %), `intercept_bytes`, `r2`, `origin`,
      `theory_bytes_per_token` (null), `n`, `residual_bytes`, `outliers`; or null, and a finding says why
    * `memory`: `origin`, `base_bytes`, `noise_bytes`, `flat`, `reason`; null where none was watched
    * `spent`: `prompt_tokens`, `completion_tokens` of all requests, `cost` in `currency`
    * `findings`: see `kvtop.analysis.findings`
    """
    records = tuple(requests)
    points = scan_points(plan, records)
    verdict = lateness = None
    if path != API:
        gpus, processes = gpu_table(gpu_csv), process_table(processes_csv)
        places = find_places(gpus, processes, simulated=simulated)
        verdict = judge_places(
            [watch(place, points, records, base_window) for place in places], points, records
        )
        lateness = sampler_lateness(gpus, processes)
    spent = _spent(records, price)
    facts = ScanFacts(
        plan=plan,
        path=path,
        state=state,
        simulated=simulated,
        records=records,
        points=points,
        memory=verdict,
        lateness=lateness,
        spent_tokens=(spent["prompt_tokens"] or 0) + (spent["completion_tokens"] or 0),
    )
    return {
        "schema": SCHEMA,
        "run": run,
        "path": path,
        "state": state,
        "simulated": simulated,
        "points": [_point(point, verdict) for point in points],
        "kv_slope": _slope(verdict),
        "memory": _memory(verdict),
        "spent": spent,
        "findings": [finding.to_json() for finding in scan_findings(facts)],
    }


def _point(point: ScanPoint, verdict: Verdict | None) -> dict[str, Any]:
    ttft = known_fields(point.measured, "ttft_s")
    delta = verdict.delta_of(point) if verdict else None
    return {
        "target_tokens": point.target_tokens,
        "prefix": point.prefix,
        "prompt_tokens": whole(_median(point, "prompt_tokens")),
        "ttft_s": median(ttft),
        "ttft_min_s": min(ttft, default=None),
        "ttft_max_s": max(ttft, default=None),
        "latency_s": _median(point, "latency_s"),
        "decode_tok_s": _median(point, "decode_tok_s"),
        "cached_tokens": whole(_median(point, "cached_tokens")),
        "kv_bytes": None,
        "mem_delta_bytes": _rounded(delta),
        "mem_origin": verdict.watched.place.origin if verdict and delta is not None else None,
        "n": len(point.measured),
        "failed": len(point.failed),
        "failures": sorted({failure_code(record) for record in point.failed}),
    }


def _rounded(count: float | None) -> int | None:
    return None if count is None else round(count)


def _median(point: ScanPoint, name: str) -> float | None:
    return median(known_fields(point.measured, name))


def _slope(verdict: Verdict | None) -> dict[str, Any] | None:
    if verdict is None or verdict.fit is None or not verdict.fit.rises:
        return None
    return verdict.fit.to_json(verdict.watched.place.origin)


def _memory(verdict: Verdict | None) -> dict[str, Any] | None:
    if verdict is None:
        return None
    watched = verdict.watched
    return {
        "origin": watched.place.origin,
        "base_bytes": _rounded(watched.base_bytes),
        "noise_bytes": _rounded(watched.noise_bytes),
        "flat": verdict.flat,
        "reason": verdict.reason,
    }


def _spent(records: Sequence[RequestRecord], price: Price | None) -> dict[str, Any]:
    costs = [cost for record in records if (cost := _cost(record, price)) is not None]
    return {
        "prompt_tokens": _sum(records, "prompt_tokens"),
        "completion_tokens": _sum(records, "completion_tokens"),
        "cost": sum(costs) if costs else None,
        "currency": price.currency if price else None,
    }


def _sum(records: Sequence[RequestRecord], name: str) -> int | None:
    known = known_fields(records, name)
    return int(sum(known)) if known else None


def _cost(record: RequestRecord, price: Price | None) -> float | None:
    prompt = number(record.prompt_tokens)
    if price is None or prompt is None:
        return None
    answer, cached = number(record.completion_tokens) or 0, number(record.cached_tokens) or 0
    return number(price.cost(int(prompt), int(answer), int(cached)))
