from __future__ import annotations

import pytest

from kvtop.experiments.answer_length import choose_answer_tokens


@pytest.mark.parametrize(
    ("asked", "speed", "watched", "chosen"),
    [
        (3, 1000.0, True, 3),
        (None, 1000.0, False, 64),
        (None, None, True, 64),
        (None, 10.0, True, 64),
        (None, 100.0, True, 120),
        (None, 5000.0, True, 512),
    ],
)
def test_the_answer_lasts_over_a_second_where_memory_is_watched(
    asked: int | None, speed: float | None, watched: bool, chosen: int
) -> None:
    assert choose_answer_tokens(asked, speed, memory_watched=watched) == chosen
