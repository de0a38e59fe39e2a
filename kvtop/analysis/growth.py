"""How memory moves from request to request: kept after each, or more with each of one length."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from kvtop.analysis.memory import Watched
from kvtop.analysis.numbers import median
from kvtop.analysis.observed import by_length
from kvtop.analysis.plateau import Plateau
from kvtop.analysis.slope import Observation
from kvtop.model.quantity import MIB

_DRIFT_SHARE = 0.3
_DRIFT_BYTES = 8 * MIB


def keeps(watched: Watched) -> bool:
    """Return whether most requests left their memory taken, and no plateau fell below an earlier one.

    `watched` counts from the first base of each engine process, which alone is free of what was kept.
    """
    read = {p.cell: p for p in watched.plateaus if p.rise_bytes is not None}
    left = [
        share for cell, low in watched.lows if cell in read and (share := _left(read[cell], low)) is not None
    ]
    if not left or sum(share >= 0.5 for share in left) < 0.8 * len(left):
        return False
    lives: dict[int, list[float]] = {}
    for p in read.values():
        if p.base is not None and p.rise_bytes is not None:
            lives.setdefault(p.base.life, []).append(p.rise_bytes)
    return all(_ascends(rises) for rises in lives.values())


def drifts(seen: Sequence[Observation]) -> bool:
    """Return whether much of the rise came between the repeats of one length, at most lengths."""
    lengths = by_length(seen)
    usual = median([rises[-1] - rises[0] for rises in lengths]) or 0.0
    total = max(o.bytes for o in seen) - min(o.bytes for o in seen) if seen else 0.0
    return len(lengths) > 1 and usual * len(lengths) > max(_DRIFT_SHARE * total, _DRIFT_BYTES)


def _left(plateau: Plateau, low: float) -> float | None:
    """Return the share of its rise that a request left taken; None where it took nothing."""
    rise = plateau.rise_bytes or 0.0
    return (low - plateau.base.bytes) / rise if plateau.base is not None and rise > 0 else None


def _ascends(rises: Sequence[float]) -> bool:
    allowed = 0.1 * max(rises)
    highest = accumulate(rises, max)
    return all(value >= most - allowed for most, value in zip(highest, rises, strict=True))
