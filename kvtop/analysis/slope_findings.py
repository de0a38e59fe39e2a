"""Findings on bytes per token: the number in words, or why there is none."""

from __future__ import annotations

from collections.abc import Iterator

from kvtop.analysis.facts import ScanFacts
from kvtop.analysis.slope import Fit
from kvtop.analysis.verdict import Verdict
from kvtop.model.finding import Finding
from kvtop.model.quantity import KIB, format_bytes

POOR_R2 = 0.9
_NARROW_KIB = 0.2
"""An interval narrower than this is told with more digits, or both ends would read the same."""
_REPEAT = "Measure at least three lengths with 3 repeats, with a longer answer and nothing else on the host."


def slope_findings(facts: ScanFacts) -> Iterator[Finding]:
    """Yield the findings of this family."""
    verdict = facts.memory
    if verdict is None:
        return
    if verdict.kind == "one_length" and not facts.live:
        yield _NEEDS_LENGTHS
    elif verdict.slope is not None:
        yield _slope(verdict.slope, verdict)
    elif verdict.kind == "unclear" and verdict.fit is not None:
        yield _off_the_base(verdict.fit, verdict) if verdict.fit.rises else _unclear(verdict.fit)


def per_token(fit: Fit) -> str:
    """Return the slope in words: `131,402 B/token = 128.3 KiB/token (95 % CI 127.9 – 128.8 KiB)`."""
    slope = f"{fit.bytes_per_token:,.0f} B/token = {fit.bytes_per_token / KIB:,.1f} KiB/token"
    if fit.ci_low is None or fit.ci_high is None:
        return f"{slope} (too few requests for an interval)"
    low, high = fit.ci_low / KIB, fit.ci_high / KIB
    digits = 1 if high - low >= _NARROW_KIB else 3
    return f"{slope} (95 % CI {low:,.{digits}f} – {high:,.{digits}f} KiB)"


_NEEDS_LENGTHS = Finding(
    "slope_needs_lengths",
    "warning",
    "Memory grew, but was read at one length only: bytes per token need two.",
    "Scan at least two lengths, better five.",
)


def _slope(fit: Fit, verdict: Verdict) -> Finding:
    kept = " (the base holds memory kept from before)" if verdict.keeps and fit.intercept_bytes < 0 else ""
    r2 = "" if fit.r2 is None else f", R² {fit.r2:.4f}"
    text = (
        f"One more token holds {per_token(fit)}{r2}, {fit.n} requests of {fit.lengths} lengths, read as "
        f"{verdict.watched.place.name}; intercept {format_bytes(fit.intercept_bytes)}{kept}."
    )
    evidence = {"residual_bytes": fit.residual_bytes, "outliers": list(fit.outliers)}
    poor = fit.r2 is not None and fit.r2 < POOR_R2
    if poor or fit.outliers:
        named = f" Off the line: {', '.join(fit.outliers)}." if fit.outliers else ""
        return Finding(
            "kv_slope", "warning" if poor else "info", text + named, _REPEAT if poor else "", evidence
        )
    return Finding("kv_slope", "info", text, "", evidence)


def _unclear(fit: Fit) -> Finding:
    text = (
        f"Memory rose, but not with the tokens: {per_token(fit)} does not exclude 0, so no slope is given. "
        "A single rise at the first long prompt (workspaces, graphs) looks like this."
    )
    return Finding("slope_unclear", "warning", text, _REPEAT, _evidence(fit))


def _off_the_base(fit: Fit, verdict: Verdict) -> Finding:
    text = (
        f"Memory rose by {format_bytes(verdict.rise_bytes)}, but the line through {fit.lengths} lengths "
        f"misses the base by {format_bytes(fit.intercept_bytes)}: a workspace taken at a long prompt or a "
        "cache of earlier prompts looks like this, so no slope is given."
    )
    return Finding("slope_unclear", "warning", text, _REPEAT, _evidence(fit))


def _evidence(fit: Fit) -> dict[str, float | None]:
    return {
        "bytes_per_token": fit.bytes_per_token,
        "ci_low": fit.ci_low,
        "ci_high": fit.ci_high,
        "intercept_bytes": fit.intercept_bytes,
    }
