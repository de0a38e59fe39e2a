"""Bytes per token: a robust line through what requests held in memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import median
from typing import Any

from kvtop.analysis.ranks import ranks_left_out

_MAD_TO_SD = 1.4826
_SAME_LENGTH = 0.05
_OUTLIER_SDS = 4.0
_OUTLIER_SHARE = 0.02
_MOST_IN_PAIRS = 400


@dataclass(frozen=True, slots=True)
class Observation:
    """One request: the tokens it held and the bytes above the base."""

    cell: str
    target_tokens: int
    tokens: float
    bytes: float


@dataclass(frozen=True, slots=True)
class Fit:
    """A line through observations. `ci_*` are None where there are too few requests for an interval."""

    bytes_per_token: float
    intercept_bytes: float
    ci_low: float | None
    ci_high: float | None
    r2: float | None
    residual_bytes: float
    """Spread of the residuals: 1.4826 times their median absolute deviation."""
    n: int
    lengths: int
    outliers: tuple[str, ...] = ()
    """Cells further from the line than 4 spreads and 2 % of the range."""

    @property
    def rises(self) -> bool:
        """Whether memory goes up with the tokens: the interval, or without one the slope, is above 0."""
        return (self.bytes_per_token if self.ci_low is None else self.ci_low) > 0

    def to_json(self, origin: str) -> dict[str, Any]:
        """Return the fit as the `kv_slope` object of `kvtop.scan/1`."""
        return {
            "bytes_per_token": self.bytes_per_token,
            "ci_low": self.ci_low,
            "ci_high": self.ci_high,
            "intercept_bytes": self.intercept_bytes,
            "r2": self.r2,
            "origin": origin,
            "theory_bytes_per_token": None,
            "n": self.n,
            "residual_bytes": self.residual_bytes,
            "outliers": list(self.outliers),
        }


def fit_slope(observations: Sequence[Observation]) -> Fit | None:
    """Fit bytes over tokens by Theil and Sen; None for fewer than two lengths.

    The slope is the median slope of all pairs of requests of different lengths, which up to 29 % of
    wild requests do not move. The 95 % interval is Sen's (1968, JASA 63:1379), see `ranks_left_out`;
    it counts requests, not samples. Above 400 requests the medians of neighbours of one length stand for
    them, as pairs grow with the square.
    """
    lengths = _length_groups([o.tokens for o in observations])
    thinned = _thinned(observations, lengths)
    slopes = _pair_slopes(thinned)
    if not slopes:
        return None
    slope = median(slopes)
    intercept = median(o.bytes - slope * o.tokens for o in observations)
    residuals = [o.bytes - slope * o.tokens - intercept for o in observations]
    scatter = _MAD_TO_SD * median(abs(residual) for residual in residuals)
    low, high = _interval(slopes, Counter(length for _, _, length in thinned))
    return Fit(
        bytes_per_token=slope,
        intercept_bytes=intercept,
        ci_low=low,
        ci_high=high,
        r2=_r2([o.bytes for o in observations], residuals),
        residual_bytes=scatter,
        n=len(observations),
        lengths=len(set(lengths)),
        outliers=_outliers(observations, residuals, scatter),
    )


def _thinned(observations: Sequence[Observation], lengths: Sequence[int]) -> list[tuple[float, float, int]]:
    """Return tokens, bytes and length of each request, or of groups of requests where they are many."""
    size = math.ceil(len(observations) / _MOST_IN_PAIRS)
    groups: dict[int, list[Observation]] = {}
    for o, length in zip(observations, lengths, strict=True):
        groups.setdefault(length, []).append(o)
    return [
        (median(o.tokens for o in part), median(o.bytes for o in part), length)
        for length, group in groups.items()
        for start in range(0, len(group), size)
        for part in [group[start : start + size]]
    ]


def _length_groups(tokens: Sequence[float]) -> list[int]:
    """Return which length each request has: counted tokens within 5 % of a neighbour are one length.

    By counted tokens and not by the wanted ones, which a server that cuts prompts does not hold.
    """
    groups = [0] * len(tokens)
    order = sorted(range(len(tokens)), key=lambda place: tokens[place])
    for before, place in pairwise(order):
        apart = tokens[place] - tokens[before] > max(_SAME_LENGTH * tokens[place], 1.0)
        groups[place] = groups[before] + apart
    return groups


def _pair_slopes(thinned: Sequence[tuple[float, float, int]]) -> list[float]:
    return sorted(
        (bytes_b - bytes_a) / (tokens_b - tokens_a)
        for (tokens_a, bytes_a, length_a), (tokens_b, bytes_b, length_b) in combinations(thinned, 2)
        if length_a != length_b
    )


def _interval(slopes: Sequence[float], repeats: Counter[int]) -> tuple[float | None, float | None]:
    left_out = ranks_left_out(tuple(repeats.values()))
    if left_out is None or 2 * left_out >= len(slopes):
        return None, None
    return slopes[left_out], slopes[len(slopes) - 1 - left_out]


def _r2(values: Sequence[float], residuals: Sequence[float]) -> float | None:
    mean = math.fsum(values) / len(values)
    total = math.fsum((value - mean) ** 2 for value in values)
    return 1 - math.fsum(r * r for r in residuals) / total if total > 0 else None


def _outliers(
    observations: Sequence[Observation], residuals: Sequence[float], scatter: float
) -> tuple[str, ...]:
    values = [o.bytes for o in observations]
    bound = max(_OUTLIER_SDS * scatter, _OUTLIER_SHARE * (max(values) - min(values)))
    return tuple(o.cell for o, r in zip(observations, residuals, strict=True) if abs(r) > bound)
