"""Findings on requests and the run: failures, missing usage, repeats, spread, budget, lateness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kvtop.analysis.cells import CONTEXT_CODE, REUSED, cell_name, failure_code, is_cell, missing_cells
from kvtop.analysis.facts import ScanFacts
from kvtop.analysis.numbers import known_fields, median, number
from kvtop.analysis.plateau import decode_window
from kvtop.model.finding import Finding
from kvtop.model.plan import ScanCell, ScanPlan
from kvtop.model.quantity import format_seconds
from kvtop.model.record import RequestRecord
from kvtop.model.text import clean_text

FEW_REPEATS = 3
NOISY_SHARE = 0.5
NOISY_FLOOR_S = 0.01
"""Repeats this close are equal: below it the network and the client's own scheduling decide."""
LATE_S = 0.02
LATE_SHARE = 0.2
TIMEABLE_S = 0.5
"""A decode shorter than this is timed by a few events of the stream."""
_LONGER_ANSWER = (
    "Answers of a fraction of a second are too short to time: ask for longer ones (--max-tokens 512)."
)
_PROMPT_RESERVE = 1.02
_LONGEST_CHOSEN_ANSWER = 512
"""Answer tokens, where the scan chooses them itself."""
_ENDED_BY_LENGTH = ("length", "max_tokens", "max_output_tokens", "incomplete")


def request_findings(facts: ScanFacts) -> Iterator[Finding]:
    """Yield the findings of this family."""
    for check in (
        _nothing_measured,
        _requests_failed,
        _usage_missing,
        _answer_ended_early,
        _budget_reached,
        _few_repeats,
        _noisy_latency,
        _noisy_decode,
        _sampler_late,
    ):
        yield from check(facts)


def _nothing_measured(facts: ScanFacts) -> Iterator[Finding]:
    if facts.live or facts.measured:
        return
    text = "No request of the plan was measured, so there is no curve."
    yield Finding("nothing_measured", "problem", text, _what_to_do(facts))


def _what_to_do(facts: ScanFacts) -> str:
    left = [length for length in facts.plan.lengths if length not in facts.unfit_lengths]
    if facts.plan.lengths and not left:
        return "No length fits: start the server with a larger context and start a new scan."
    return "See what the requests failed of, then resume the run."


def _requests_failed(facts: ScanFacts) -> Iterator[Finding]:
    in_cells = [record for point in facts.points for record in point.failed]
    others = [record for record in facts.records if not is_cell(record) and not record.measured]
    failed = [record for record in [*in_cells, *others] if failure_code(record) != CONTEXT_CODE]
    codes = Counter(map(failure_code, failed))
    if not codes:
        return
    listed = ", ".join(f"{count} × {code}" for code, count in codes.most_common())
    counted = "1 request" if codes.total() == 1 else f"{codes.total()} requests"
    text = f"{counted} failed ({listed}): counted, in no median."
    hints = [str(getattr(record.failure, "hint", "")) for record in failed]
    hint = next((clean_text(hint) for hint in hints if hint), "See `failure` in requests.jsonl of the run.")
    yield Finding("requests_failed", "warning", text, hint, {"codes": dict(codes)})


def _usage_missing(facts: ScanFacts) -> Iterator[Finding]:
    missing = [record for record in facts.measured if number(record.prompt_tokens) is None]
    if not missing:
        return
    text = (
        f"{len(missing)} of {len(facts.measured)} answers came without usage: their tokens are unknown, "
        "they are in no curve, and what was spent is more than is shown."
    )
    hint = "The server or a gateway leaves usage out of streams; see `stream_options.include_usage`."
    cells = [cell_name(record) for record in missing]
    yield Finding("usage_missing", "warning", text, hint, {"cells": cells})


def _answer_ended_early(facts: ScanFacts) -> Iterator[Finding]:
    early = [record for record in facts.measured if _is_early(record)]
    if len(early) * 2 <= len(facts.measured):
        return
    usual = median(known_fields(early, "completion_tokens"))
    length = "" if usual is None else f" after {usual:,.0f} tokens (median)"
    text = f"{len(early)} of {len(facts.measured)} answers ended by themselves{length}, before their limit."
    hint = "Decode speed and memory rest on short answers; a model that answers at length is measured better."
    yield Finding("answer_ended_early", "info", text, hint, {"median_completion_tokens": usual})


def _is_early(record: RequestRecord) -> bool:
    if not record.finish_reason or record.finish_reason in _ENDED_BY_LENGTH:
        return False
    limit, answered = number(record.max_tokens), number(record.completion_tokens)
    return limit is None or answered is None or answered < limit


def _budget_reached(facts: ScanFacts) -> Iterator[Finding]:
    budget = facts.plan.max_total_tokens
    unfit = facts.unfit_lengths
    missing = [cell for cell in missing_cells(facts.plan, facts.points) if cell.target_tokens not in unfit]
    if facts.live or budget is None or not missing:
        return
    if (facts.spent_tokens or 0) + _most_tokens(missing[0], facts.plan) <= budget:
        return
    text = (
        f"The budget of {budget:,} tokens ended the scan: {facts.spent_tokens or 0:,} were spent, "
        f"{len(missing)} of {len(facts.plan.cells())} requests were not sent."
    )
    hint = "Raise --max-total-tokens and resume the run; what is measured stays."
    yield Finding("budget_reached", "warning", text, hint, {"missing_cells": [cell.id for cell in missing]})


def _most_tokens(cell: ScanCell, plan: ScanPlan) -> float:
    """Return what the next cell may cost: a reused one primes first, a prompt may be 2 % over."""
    prompts = 2 if cell.prefix == REUSED else 1
    return prompts * (_PROMPT_RESERVE * cell.target_tokens + (plan.max_tokens or _LONGEST_CHOSEN_ANSWER))


def _few_repeats(facts: ScanFacts) -> Iterator[Finding]:
    few = [point for point in facts.with_values if len(point.measured) < FEW_REPEATS]
    if not few or (facts.live and facts.plan.repeats >= FEW_REPEATS):
        return
    listed = ", ".join(f"{point.label}: {len(point.measured)}" for point in few)
    text = f"Fewer than {FEW_REPEATS} measured repeats ({listed}): a median of so few says little."
    evidence = {point.label: len(point.measured) for point in few}
    yield Finding("few_repeats", "info", text, "Measure with --repeats 3 or more.", evidence)


def _noisy_latency(facts: ScanFacts) -> Iterator[Finding]:
    noisy = _far_apart(facts, "ttft_s", NOISY_FLOOR_S)
    if not noisy:
        return
    listed = "; ".join(
        f"{label}: {format_seconds(low)} – {format_seconds(high)}" for label, (low, _, high) in noisy.items()
    )
    text = f"TTFT of repeats differs by more than half of the median ({listed})."
    hint = "Other load on the server or the way there; measure when it is quiet, or with more repeats."
    yield Finding("noisy_latency", "warning", text, hint, {"ttft_min_median_max_s": noisy})


def _noisy_decode(facts: ScanFacts) -> Iterator[Finding]:
    noisy = _far_apart(facts, "decode_tok_s")
    if not noisy:
        return
    listed = "; ".join(f"{label}: {low:,.0f} – {high:,.0f}" for label, (low, _, high) in noisy.items())
    text = f"Decode speed of repeats differs by more than half of the median (tok/s, {listed})."
    quick = any(
        _decode_s(record) < TIMEABLE_S for p in facts.points if p.label in noisy for record in p.measured
    )
    hint = (
        _LONGER_ANSWER
        if quick
        else "Other load on the server; measure when it is quiet, or with more repeats."
    )
    yield Finding("noisy_decode", "warning", text, hint, {"decode_min_median_max_tok_s": noisy})


def _decode_s(record: RequestRecord) -> float:
    window = decode_window(record)
    return window[1] - window[0] if window else 0.0


def _far_apart(facts: ScanFacts, name: str, floor: float = 0.0) -> dict[str, list[float]]:
    """Return least, median and most of the points whose repeats differ by more than half of the median."""
    found = {}
    for point in facts.points:
        values = known_fields(point.measured, name)
        middle = median(values)
        if middle and max(values) - min(values) > max(NOISY_SHARE * abs(middle), floor):
            found[point.label] = [min(values), middle, max(values)]
    return found


def _sampler_late(facts: ScanFacts) -> Iterator[Finding]:
    late = facts.lateness
    if late is None or late.p99_s <= min(LATE_S, LATE_SHARE * facts.plan.interval_s):
        return
    text = (
        f"Memory samples came late: p99 {format_seconds(late.p99_s)}, at most {format_seconds(late.max_s)}, "
        f"at an interval of {format_seconds(facts.plan.interval_s)}."
    )
    hint = "The host is busy or the driver slow: use a larger --interval or a quieter host."
    evidence = {"p99_s": late.p99_s, "max_s": late.max_s, "samples": late.samples, "origin": late.origin}
    yield Finding("clock_or_sampler_late", "warning", text, hint, evidence)
