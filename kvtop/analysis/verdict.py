"""What the watched memory tells: it grew with the tokens, did not move, or does not show the KV cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kvtop.analysis.cells import ScanPoint
from kvtop.analysis.growth import drifts, keeps
from kvtop.analysis.memory import Watched, from_first_bases, void_shadowed
from kvtop.analysis.observed import observe, preferred, usual_rises
from kvtop.analysis.slope import Fit, Observation, fit_slope
from kvtop.model.quantity import MIB
from kvtop.model.record import RequestRecord

WOBBLE_BYTES = 64 * MIB
"""What an engine with a fixed pool moves by itself: workspaces, graphs, pages touched for the first time."""
STAYED_BYTES = MIB
"""A process moves by as much while it does nothing."""
SMALLEST_BYTES_PER_TOKEN = 1024
"""Below any served model: DeepSeek V4, the smallest known, holds 3,300 B/token."""
GOOD_R2 = 0.98
_OFF_THE_BASE_SHARE = 0.25
"""Share of the rise by which a line through two lengths may miss the base."""

Kind = Literal["unread", "stayed", "small", "noisy", "drifts", "one_length", "unclear", "grew"]
"""`stayed`: did not move. `small`: moved, by less than what a fixed pool moves by itself, and not along a
line. `noisy`: lost in what idle memory does. `drifts`: grows from request to request of one length.
`one_length`: grew, read at one length only. `unclear`: grew, but not with the tokens. `grew`: with them."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judged memory of a scan."""

    watched: Watched
    kind: Kind
    rise_bytes: float | None = None
    """The median rise over the base of the length that moved most; below 0 where it fell."""
    tokens: float = 0.0
    """Tokens of the longest request that was read."""
    lengths: int = 0
    """Lengths that were read."""
    fit: Fit | None = None
    """The line through what was read, whether memory follows it or not."""
    keeps: bool = False
    """The allocator does not give back."""

    @property
    def flat(self) -> bool | None:
        """Whether memory stood still; None where that cannot be told from what was read."""
        if self.kind in ("unread", "small", "noisy"):
            return None
        return self.kind == "stayed"

    @property
    def usable(self) -> bool:
        """Whether plateau minus base is the memory of that request."""
        return self.kind in ("grew", "one_length")

    @property
    def slope(self) -> Fit | None:
        """The line, where memory follows the tokens."""
        return self.fit if self.kind == "grew" else None


def judge_places(
    candidates: Sequence[Watched], points: Sequence[ScanPoint], requests: Sequence[RequestRecord]
) -> Verdict | None:
    """Return the verdict on the first place that grew, else on the likeliest one; None without a place."""
    verdicts = [judge(watched, points, requests) for watched in candidates]
    grown = [verdict for verdict in verdicts if verdict.usable]
    moved = [verdict for verdict in verdicts if verdict.flat is False]
    return next(iter(grown or moved or verdicts), None)


def judge(watched: Watched, points: Sequence[ScanPoint], requests: Sequence[RequestRecord]) -> Verdict:
    """Judge one place.

    A rise below what a fixed pool moves by itself (64 MiB) counts only when it follows the tokens over three
    repeated lengths (R² >= 0.98) with 1,024 B/token or more; one below twice the idle noise never does.
    """
    kept = keeps(from_first_bases(watched))
    if kept:
        watched = from_first_bases(watched)
    seen = observe(watched, points)
    verdict = _not_judged(watched, seen, points, kept=kept)
    if verdict.rise_bytes is None:
        return verdict
    kind = _not_grown(verdict, seen)
    return replace(verdict, kind=kind) if kind else _grown(verdict, points, requests)


def _not_grown(verdict: Verdict, seen: Sequence[Observation]) -> Kind | None:
    rise, noise = verdict.rise_bytes or 0.0, 2 * (verdict.watched.noise_bytes or 0.0)
    if rise < noise and noise > WOBBLE_BYTES:
        return "noisy"
    if abs(rise) <= max(STAYED_BYTES, noise):
        return "stayed"
    if drifts(seen):
        return "drifts"
    small = rise < max(WOBBLE_BYTES, noise) and not _surely_follows(verdict.fit, seen)
    return "small" if small else None


def _not_judged(
    watched: Watched, seen: Sequence[Observation], points: Sequence[ScanPoint], *, kept: bool
) -> Verdict:
    return Verdict(
        watched,
        "unread",
        rise_bytes=max(usual_rises(seen), key=abs, default=None),
        tokens=max((o.tokens for o in seen), default=0.0),
        lengths=len({o.target_tokens for o in seen}),
        fit=fit_slope(preferred(seen, points)),
        keeps=kept,
    )


def _grown(verdict: Verdict, points: Sequence[ScanPoint], requests: Sequence[RequestRecord]) -> Verdict:
    if verdict.keeps:
        verdict = replace(verdict, watched=void_shadowed(verdict.watched, requests))
    seen = preferred(observe(verdict.watched, points), points)
    fit = fit_slope(seen)
    if fit is None:
        return replace(verdict, kind="one_length", fit=None)
    credible = fit.rises and (_from_the_base(fit, verdict, seen) or (verdict.keeps and fit.lengths > 2))
    return replace(verdict, kind="grew" if credible else "unclear", fit=fit)


def _surely_follows(fit: Fit | None, seen: Sequence[Observation]) -> bool:
    repeated = len(seen) >= 2 * len({o.target_tokens for o in seen})
    if fit is None or fit.lengths < 3 or fit.r2 is None or not repeated:
        return False
    return fit.rises and fit.r2 >= GOOD_R2 and fit.bytes_per_token >= SMALLEST_BYTES_PER_TOKEN


def _from_the_base(fit: Fit, verdict: Verdict, seen: Sequence[Observation]) -> bool:
    """Return whether the line begins where the base is, as one must that is the memory of each request.

    Through two lengths there is always a line, also through a workspace taken at the longer one: their
    line may miss the base by a quarter of the rise. Over more lengths a cache of the prompts before makes
    a line as well, on which the shortest prompts hold nothing.
    """
    if fit.lengths < 3:
        return abs(fit.intercept_bytes) <= _OFF_THE_BASE_SHARE * (verdict.rise_bytes or 0.0)
    shortest = fit.bytes_per_token * min(o.tokens for o in seen)
    allowed = max(WOBBLE_BYTES, 2 * (verdict.watched.noise_bytes or 0.0))
    return fit.intercept_bytes >= -0.5 * shortest - allowed
