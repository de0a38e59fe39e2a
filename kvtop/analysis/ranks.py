"""How many of the ordered pair slopes a 95 % interval leaves out at each end."""

from __future__ import annotations

import math
from collections.abc import Sequence

_TAIL = 0.025
_Z_95 = 1.959964
_EXACT_UP_TO = 60


def ranks_left_out(repeats: Sequence[int]) -> int | None:
    """Return the number of slopes outside the interval at each end, None where 95 % cannot be had.

    `repeats` are the requests of each length. With k slopes left out, the interval misses the true slope
    when at most k pairs are out of order, so k is the largest with P(inversions <= k) <= 2.5 %. Exact for
    up to 60 requests: inversions of a multiset's arrangements follow the Gaussian multinomial
    coefficient. Beyond that Sen's normal approximation with Kendall's correction for ties.
    """
    if sum(repeats) > _EXACT_UP_TO:
        return _approximate(repeats)
    tail = _TAIL * math.factorial(sum(repeats)) / math.prod(map(math.factorial, repeats))
    seen, left_out = 0, None
    for inversions, arrangements in enumerate(_arrangements_by_inversions(repeats)):
        seen += arrangements
        if seen > tail:
            break
        left_out = inversions
    return left_out


def _arrangements_by_inversions(repeats: Sequence[int]) -> list[int]:
    """Return the low half of the coefficients of prod (1 - q^i) / prod (1 - q^j).

    i runs to the number of requests, j to the repeats of each length.
    """
    n = sum(repeats)
    half = (n * n - sum(t * t for t in repeats)) // 4
    counts = [1] + [0] * half
    for power in range(1, n + 1):
        for degree in range(half, power - 1, -1):
            counts[degree] -= counts[degree - power]
    for power in (j for t in repeats for j in range(1, t + 1)):
        for degree in range(power, half + 1):
            counts[degree] += counts[degree - power]
    return counts


def _approximate(repeats: Sequence[int]) -> int | None:
    n = sum(repeats)
    pairs = (n * n - sum(t * t for t in repeats)) // 2
    ties = sum(t * (t - 1) * (2 * t + 5) for t in repeats)
    margin = _Z_95 * math.sqrt((n * (n - 1) * (2 * n + 5) - ties) / 18)
    left_out = math.floor((pairs - margin) / 2) - 1
    return left_out if left_out >= 0 else None
