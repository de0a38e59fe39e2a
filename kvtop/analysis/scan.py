"""The analysis of a length scan: the document `kvtop.scan/1`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kvtop.analysis.bases import Window
from kvtop.analysis.cells import ScanPoint, cell_name, failure_code, scan_points
from kvtop.analysis.facts import API, NO_LENGTHS, ScanFacts
from kvtop.analysis.findings import scan_findings
from kvtop.analysis.lateness import sampler_lateness
from kvtop.analysis.memory import find_places, watch
from kvtop.analysis.numbers import known_fields, median, number, whole
from kvtop.analysis.observed import raw_points, rises_by_cell, rounded
from kvtop.analysis.tables import gpu_table, process_table
from kvtop.analysis.verdict import Verdict, judge_places
from kvtop.analysis.why import reason_of
from kvtop.model.endpoint import Price
from kvtop.model.plan import ScanPlan
from kvtop.model.record import RequestRecord

SCHEMA = "kvtop.scan/1"

POOL_ENGINES = frozenset({"vllm", "sglang", "lmdeploy", "tensorrt_llm", "llamacpp"})
"""Engines, as `/v1/models` names the owner, that take their KV pool at start: memory that grows later is
something else, such as pages of the pool touched for the first time, however well it follows the tokens."""


def analyse_scan(
    plan: ScanPlan,
    requests: Sequence[RequestRecord],
    *,
    run: str,
    path: str,
    gpu_csv: bytes,
    processes_csv: bytes,
    base_windows: Sequence[Window],
    price: Price | None,
    simulated: bool,
    state: str,
    engine: str | None = None,
    over_context: Mapping[int, int | None] = NO_LENGTHS,
) -> dict[str, Any]:
    """Return the document of a length scan, finished or going on. Nothing in the records or tables raises.

    `path` is `local` or `api`, `state` a `RunState`. `base_windows` are the idle times before the measured
    requests of each session, in Unix seconds; `over_context` the lengths that were not measured because
    they do not fit, with the limit in tokens where one is known. The result is plain JSON without NaN:

    * `schema`, `run`, `path`, `state`, `simulated`
    * `points`: one per length and prefix, of the plan or met in the records: `target_tokens`, `prefix`,
      medians over measured repeats (`prompt_tokens`, `ttft_s`, `latency_s`, `decode_tok_s`, `e2e_tok_s`,
      `cached_tokens`, `mem_delta_bytes`), the least and the most (`ttft_min_s`, `ttft_max_s` and the like),
      `kv_bytes` (null: no counter), `mem_origin`, `mem_n` (requests that `mem_delta_bytes` rests on), `n`,
      `failed`, `failures` (codes). Null is unknown.
    * `kv_slope`: `bytes_per_token`, `ci_low`, `ci_high` (95 %), `intercept_bytes`, `r2`, `origin`,
      `theory_bytes_per_token` (null), `n`, `residual_bytes`, `outliers`; or null, and a finding says why
    * `memory`: `origin`, `base_bytes`, `noise_bytes`, `flat`, `reason`, `bases` (one for each session),
      `points` (what was read at each length, whatever it is judged to be); null where none was watched
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
            [watch(place, points, records, base_windows) for place in places], points, records
        )
        if verdict is not None and verdict.usable and engine in POOL_ENGINES:
            verdict = replace(verdict, kind="drifts", fit=None)
        lateness = sampler_lateness(gpus, processes, base_windows)
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
        over_context=over_context,
    )
    return {
        "schema": SCHEMA,
        "run": run,
        "path": path,
        "state": state,
        "simulated": simulated,
        "points": _points(points, verdict),
        "kv_slope": _slope(verdict),
        "memory": _memory(verdict, points),
        "spent": spent,
        "findings": [finding.to_json() for finding in scan_findings(facts)],
    }


def _points(points: Sequence[ScanPoint], verdict: Verdict | None) -> list[dict[str, Any]]:
    rises = rises_by_cell(verdict.watched) if verdict and verdict.usable else {}
    origin = verdict.watched.place.origin if verdict else None
    return [_point(point, rises, origin) for point in points]


def _point(point: ScanPoint, rises: Mapping[str, float], origin: str | None) -> dict[str, Any]:
    held = [rises[name] for record in point.measured if (name := cell_name(record)) in rises]
    return {
        "target_tokens": point.target_tokens,
        "prefix": point.prefix,
        "prompt_tokens": whole(_median(point, "prompt_tokens")),
        **_spread(point, "ttft", "_s"),
        **_spread(point, "latency", "_s"),
        **_spread(point, "decode", "_tok_s"),
        "e2e_tok_s": _median(point, "e2e_tok_s"),
        "cached_tokens": whole(_median(point, "cached_tokens")),
        "kv_bytes": None,
        "mem_delta_bytes": rounded(median(held)),
        "mem_delta_min_bytes": rounded(min(held, default=None)),
        "mem_delta_max_bytes": rounded(max(held, default=None)),
        "mem_origin": origin if held else None,
        "mem_n": len(held),
        "n": len(point.measured),
        "failed": len(point.failed),
        "failures": sorted({failure_code(record) for record in point.failed}),
    }


def _spread(point: ScanPoint, name: str, unit: str) -> dict[str, float | None]:
    """Return median, least and most of a field: `ttft_s`, `ttft_min_s`, `ttft_max_s`."""
    values = known_fields(point.measured, name + unit)
    return {
        f"{name}{unit}": median(values),
        f"{name}_min{unit}": min(values, default=None),
        f"{name}_max{unit}": max(values, default=None),
    }


def _median(point: ScanPoint, name: str) -> float | None:
    return median(known_fields(point.measured, name))


def _slope(verdict: Verdict | None) -> dict[str, Any] | None:
    fit = verdict.slope if verdict else None
    return fit.to_json(verdict.watched.place.origin) if fit and verdict else None


def _memory(verdict: Verdict | None, points: Sequence[ScanPoint]) -> dict[str, Any] | None:
    if verdict is None:
        return None
    watched = verdict.watched
    return {
        "origin": watched.place.origin,
        "base_bytes": rounded(watched.base_bytes),
        "noise_bytes": rounded(watched.noise_bytes),
        "flat": verdict.flat,
        "reason": reason_of(verdict),
        "bases": [base.to_json() for base in watched.bases],
        "points": raw_points(watched, points),
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
