"""Findings on prompt lengths: off target, cut by the server, over the context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvtop.analysis.cells import CONTEXT_CODE, ScanPoint, failure_code
from kvtop.analysis.facts import ScanFacts
from kvtop.analysis.numbers import known_fields, median, number, numbers
from kvtop.model.finding import Finding

OFF_SHARE = 0.01
OFF_TOKENS = 16
TRUNCATED_SHARE = 0.75
"""A calibrated prompt does not miss by a quarter: a server that counts less has cut it."""


def length_findings(facts: ScanFacts) -> Iterator[Finding]:
    """Yield the findings of this family."""
    yield from _prompt_truncated(facts)
    yield from _length_off_target(facts)
    yield from _over_context(facts)


def _counted(point: ScanPoint) -> float | None:
    return median(known_fields(point.measured, "prompt_tokens"))


def _is_truncated(point: ScanPoint, counted: float) -> bool:
    return point.target_tokens - counted > OFF_TOKENS and counted < TRUNCATED_SHARE * point.target_tokens


def _prompt_truncated(facts: ScanFacts) -> Iterator[Finding]:
    cut = {
        p.label: counted
        for p in facts.points
        if (counted := _counted(p)) is not None and _is_truncated(p, counted)
    }
    if not cut:
        return
    listed = ", ".join(f"{label} → {counted:,.0f}" for label, counted in cut.items())
    text = f"The server counted far fewer prompt tokens than were sent ({listed}): it cuts prompts silently."
    hint = (
        "Raise the context of the server (Ollama: num_ctx; llama.cpp: -c); these points are not their length."
    )
    yield Finding("prompt_truncated", "problem", text, hint, {"prompt_tokens": cut})


def _length_off_target(facts: ScanFacts) -> Iterator[Finding]:
    off = {
        point.label: counted
        for point in facts.points
        if (counted := _counted(point)) is not None
        and not _is_truncated(point, counted)
        and abs(counted - point.target_tokens) > max(OFF_SHARE * point.target_tokens, OFF_TOKENS)
    }
    if not off:
        return
    listed = ", ".join(f"{label} → {counted:,.0f}" for label, counted in off.items())
    text = f"Prompts missed their length by more than 1 % ({listed}); curves use the counted tokens."
    hint = "The calibration did not hold: a gateway adds text, or the tokenizer is not even over lengths."
    yield Finding("length_off_target", "warning", text, hint, {"prompt_tokens": off})


def _over_context(facts: ScanFacts) -> Iterator[Finding]:
    refused = [
        (point.target_tokens, record.failure)
        for point in facts.points
        for record in point.failed
        if failure_code(record) == CONTEXT_CODE
    ]
    if not refused and not facts.over_context:
        return
    asked = sorted({length for length, _ in refused})
    unsent = sorted(set(facts.over_context).difference(asked))
    told = known_fields([failure for _, failure in refused], "limit_tokens")
    limit = min([*told, *numbers(facts.over_context.values())], default=None)
    text = _unfit(asked, unsent, limit)
    hint = (
        "Start the server with a larger context and start a new scan, or scan lengths below the limit; "
        "a resume does not send these."
    )
    evidence = {"lengths": sorted({*asked, *unsent}), "limit_tokens": number(limit), "not_sent": unsent}
    yield Finding("over_context", "warning", text, hint, evidence)


def _unfit(asked: Sequence[int], unsent: Sequence[int], limit: float | None) -> str:
    context = "the context" if limit is None else f"the context of {limit:,.0f} tokens"
    named = "which names no limit" if limit is None else f"whose limit is {limit:,.0f} tokens"
    if not asked:
        return f"Prompts of {_listed(unsent)} tokens do not fit {context} and were not sent."
    more = f" {_listed(unsent)} tokens were not sent." if unsent else ""
    return (
        f"Prompts of {_listed(asked)} tokens were refused by the server, {named}: the curve ends before them."
        f"{more}"
    )


def _listed(lengths: Sequence[int]) -> str:
    return ", ".join(f"{length:,}" for length in lengths)
