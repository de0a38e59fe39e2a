from __future__ import annotations

from itertools import permutations
from math import factorial, prod

import pytest

from kvtop.analysis.ranks import _approximate, _arrangements_by_inversions, ranks_left_out


@pytest.mark.parametrize("repeats", [(1, 1, 1, 1), (2, 2), (1, 3), (2, 1, 2)])
def test_arrangements_are_those_that_can_be_counted(repeats: tuple[int, ...]) -> None:
    letters = [length for length, count in enumerate(repeats) for _ in range(count)]
    counted: dict[int, int] = {}
    for order in set(permutations(letters)):
        inversions = sum(a > b for i, a in enumerate(order) for b in order[i + 1 :])
        counted[inversions] = counted.get(inversions, 0) + 1
    low_half = _arrangements_by_inversions(repeats)
    assert low_half == [counted[n] for n in range(len(low_half))]


@pytest.mark.parametrize("repeats", [(1,), (3,), (1, 1), (1, 1, 1, 1), (3, 3)])
def test_too_few_requests_have_no_interval(repeats: tuple[int, ...]) -> None:
    assert ranks_left_out(repeats) is None


@pytest.mark.parametrize(
    ("repeats", "left_out"), [((1,) * 5, 0), ((4, 4), 0), ((1,) * 10, 11), ((3, 3, 3), 4)]
)
def test_known_ranks(repeats: tuple[int, ...], left_out: int) -> None:
    """Kendall's table for n = 5 and 10, Mann and Whitney's for 4 and 4."""
    assert ranks_left_out(repeats) == left_out


@pytest.mark.parametrize("repeats", [(3,) * 5, (5,) * 8, (10,) * 5, (1,) * 40])
def test_the_tail_is_below_and_next_would_be_above(repeats: tuple[int, ...]) -> None:
    left_out = ranks_left_out(repeats)
    counts = _arrangements_by_inversions(repeats)
    arrangements = factorial(sum(repeats)) // prod(map(factorial, repeats))
    assert left_out is not None
    assert sum(counts[: left_out + 1]) <= 0.025 * arrangements < sum(counts[: left_out + 2])


@pytest.mark.parametrize("repeats", [(5,) * 8, (12,) * 5, (1,) * 60])
def test_approximation_joins_the_exact_count(repeats: tuple[int, ...]) -> None:
    exact, approximate = ranks_left_out(repeats), _approximate(repeats)
    assert exact is not None
    assert approximate is not None
    assert abs(exact - approximate) <= 3


def test_many_requests_are_approximated() -> None:
    assert ranks_left_out((20,) * 10) == _approximate((20,) * 10)
