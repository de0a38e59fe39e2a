"""What the watched memory tells: it grew with the tokens, was taken at start, or cannot say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from kvtop.analysis.cells import COLD, ScanPoint, cell_name
from kvtop.analysis.memory import Watched, void_shadowed
from kvtop.analysis.numbers import median, number
from kvtop.analysis.plateau import Void
from kvtop.analysis.slope import Fit, Observation, fit_slope
from kvtop.model.quantity import MIB
from kvtop.model.record import RequestRecord

WOBBLE_BYTES = 64 * MIB
"""What an engine with a fixed pool moves by itself: workspaces, graphs, pages touched for the first time."""
SMALLEST_BYTES_PER_TOKEN = 1024
"""Below any served model: DeepSeek V4, the smallest known, holds 3,300 B/token."""
GOOD_R2 = 0.98
DRIFT_SHARE = 0.3
DRIFT_BYTES = 8 * MIB

_VOIDS: Mapping[Void, str] = {
    "no_times": "no request has a first and a last token",
    "few_samples": "fewer than three samples between first and last token",
    "others_moved": "other processes' GPU memory moved",
    "shadowed": "a longer request before kept its memory",
    "no_base": "no idle samples before the first request",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judged memory of a scan."""

    watched: Watched
    flat: bool | None
    """True: taken at start. None: cannot be told from what was read."""
    rise_bytes: float | None = None
    """Largest median rise over the base of any length."""
    tokens: float = 0.0
    """Tokens of the longest request that was read."""
    fit: Fit | None = None
    """The line, where memory follows the tokens."""
    noisy: bool = False
    """The rise is lost in what the idle memory does."""
    keeps: bool = False
    """The allocator does not give back."""
    drifts: bool = False
    """Memory grows from request to request at one length."""

    @property
    def usable(self) -> bool:
        """Whether plateau minus base is the memory of that request."""
        return not self.flat and not self.drifts and not self.noisy

    @property
    def reason(self) -> str:
        """Why memory says no more than it does, in words; empty where it grew and was read."""
        if self.rise_bytes is None:
            return _unread_reason(self.watched)
        if self.drifts:
            return "grew from request to request of one length"
        if self.noisy:
            return "the rise is lost in what the idle memory does"
        if self.flat:
            return "taken at start: the rise is within what a fixed pool moves by itself"
        return "" if self.flat is False else "the rise is too small for so few lengths to tell"

    def delta_of(self, point: ScanPoint) -> float | None:
        """Return the median of plateau minus base over a point's repeats, in bytes."""
        if not self.usable:
            return None
        rises = [self.watched.rise_of(cell_name(record)) for record in point.measured]
        return median([rise for rise in rises if rise is not None])


def judge_places(
    candidates: Sequence[Watched], points: Sequence[ScanPoint], requests: Sequence[RequestRecord]
) -> Verdict | None:
    """Return the verdict on the first place that grew, else on the likeliest one; None without a place."""
    verdicts = [judge(watched, points, requests) for watched in candidates]
    grown = [verdict for verdict in verdicts if verdict.flat is False]
    return next(iter(grown or verdicts), None)


def judge(watched: Watched, points: Sequence[ScanPoint], requests: Sequence[RequestRecord]) -> Verdict:
    """Judge one place.

    Flat when the largest rise is below what a fixed pool moves by itself (64 MiB) or twice the idle noise,
    unless it follows the tokens over three lengths (R² >= 0.98). With fewer lengths it is flat only below
    1,024 B/token, under which nothing that is served grows, and else cannot be told.
    """
    seen = observe(watched, points)
    rise, tokens = _rise(seen)
    if rise is None:
        return Verdict(watched, flat=None)
    drifts = _drifts(seen)
    noise = 2 * (watched.noise_bytes or 0.0)
    follows = not drifts and _follows(fit_slope(_preferred(seen, points)))
    if rise < max(WOBBLE_BYTES, noise) and not follows:
        return _not_grown(watched, rise, tokens, lengths=len({o.target_tokens for o in seen}), noise=noise)
    if drifts:
        return Verdict(watched, flat=False, rise_bytes=rise, tokens=tokens, drifts=True)
    keeps = _keeps(watched)
    kept = void_shadowed(watched, requests) if keeps else watched
    fit = fit_slope(_preferred(observe(kept, points), points))
    return Verdict(kept, flat=False, rise_bytes=rise, tokens=tokens, fit=fit, keeps=keeps)


def observe(watched: Watched, points: Iterable[ScanPoint]) -> list[Observation]:
    """Return one observation per readable request, in sending order.

    tokens = prompt tokens + the share of the answer generated by the middle of its samples.
    """
    records = {cell_name(record): (point, record) for point in points for record in point.measured}
    seen = []
    for plateau in watched.plateaus:
        point, record = records[plateau.cell]
        rise, prompt = watched.rise_of(plateau.cell), number(record.prompt_tokens)
        if plateau.bytes is not None and rise is not None and prompt is not None:
            answered = plateau.answered * (number(record.completion_tokens) or 0.0)
            seen.append(Observation(plateau.cell, point.target_tokens, prompt + answered, rise))
    return seen


def _unread_reason(watched: Watched) -> str:
    voids = Counter(plateau.void for plateau in watched.plateaus if plateau.void)
    if voids:
        return _VOIDS[voids.most_common(1)[0][0]]
    return "no request with known tokens was measured"


def _not_grown(watched: Watched, rise: float, tokens: float, *, lengths: int, noise: float) -> Verdict:
    if noise > max(rise, WOBBLE_BYTES):
        return Verdict(watched, None, rise, tokens, noisy=True)
    tellable = lengths > 2 or rise < SMALLEST_BYTES_PER_TOKEN * tokens
    return Verdict(watched, True if tellable else None, rise, tokens)


def _rise(seen: Sequence[Observation]) -> tuple[float | None, float]:
    by_length: dict[int, list[float]] = {}
    for o in seen:
        by_length.setdefault(o.target_tokens, []).append(o.bytes)
    rises = [rise for values in by_length.values() if (rise := median(values)) is not None]
    return max(rises, default=None), max((o.tokens for o in seen), default=0.0)


def _preferred(seen: Sequence[Observation], points: Sequence[ScanPoint]) -> list[Observation]:
    """Return the cold requests where they make a line, else all."""
    cold_cells = {cell_name(record) for point in points if point.prefix == COLD for record in point.measured}
    cold = [o for o in seen if o.cell in cold_cells]
    return cold if len({o.target_tokens for o in cold}) > 1 else list(seen)


def _follows(fit: Fit | None) -> bool:
    if fit is None or fit.lengths < 3 or fit.r2 is None:
        return False
    return fit.rises and fit.r2 >= GOOD_R2


def _keeps(watched: Watched) -> bool:
    """Return whether most requests left their memory taken, and no plateau fell below an earlier one."""
    base = watched.base_bytes or 0.0
    left = [(low - base) / rise for cell, low in watched.lows if (rise := watched.rise_of(cell) or 0.0) > 0]
    if not left or sum(share >= 0.5 for share in left) < 0.8 * len(left):
        return False
    plateaus = [p.bytes for p in watched.plateaus if p.bytes is not None]
    allowed = 0.1 * (max(plateaus) - base)
    return all(
        value >= highest - allowed for highest, value in zip(accumulate(plateaus, max), plateaus, strict=True)
    )


def _drifts(seen: Sequence[Observation]) -> bool:
    """Return whether much of the rise came between the repeats of one length, at most lengths."""
    by_length: dict[int, list[float]] = {}
    for o in seen:
        by_length.setdefault(o.target_tokens, []).append(o.bytes)
    usual = median([values[-1] - values[0] for values in by_length.values()]) or 0.0
    total = max(o.bytes for o in seen) - min(o.bytes for o in seen) if seen else 0.0
    return len(by_length) > 1 and usual * len(by_length) > max(DRIFT_SHARE * total, DRIFT_BYTES)
