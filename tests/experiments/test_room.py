from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtop.experiments.room import Room, can_fit


@pytest.mark.parametrize(
    ("target", "context", "aim"),
    [
        (1000, None, 1000),
        (1000, 131_072, 1000),
        (131_072, 131_072, 130_874),
        (131_072, 65_536, 131_072),
        (1000, 1000, 1000),
    ],
)
def test_the_aim_leaves_room_for_the_answer(target: int, context: int | None, aim: int) -> None:
    assert Room(64, context).aim(target) == aim


@given(st.integers(1, 300_000), st.integers(1, 300_000), st.integers(1, 600))
def test_the_aim_is_the_target_or_up_to_one_percent_less_and_then_fits(
    target: int, context: int, answer: int
) -> None:
    aim = Room(answer, context).aim(target)
    assert target * 0.99 <= aim <= target
    if aim < target:
        assert aim + answer <= context


@pytest.mark.parametrize(
    ("target", "context", "fits"),
    [
        (2000, None, True),
        (2000, 2000, True),
        (2000, 1981, True),
        (2000, 1980, False),
        (131_072, 131_072, True),
    ],
)
def test_what_can_fit_is_what_one_percent_less_leaves_room_for(
    target: int, context: int | None, fits: bool
) -> None:
    assert can_fit(target, context) is fits
