from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtop.cli import curve
from kvtop.cli.curve import HEIGHT, WIDTH, draw_curve, nice_ticks, spaced

LENGTHS = [1024 * 2**n for n in range(8)]


@pytest.fixture
def _unicode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve, "is_unicode", lambda stream: True)


@pytest.mark.usefixtures("_unicode")
def test_a_curve_fits_a_terminal_and_marks_every_point() -> None:
    drawn = draw_curve("memory", [(x, x / 1000) for x in LENGTHS], x_label="prompt tokens")
    lines = drawn.splitlines()
    assert len(lines) <= HEIGHT
    assert max(map(len, lines)) <= WIDTH
    assert "memory" in lines[0]
    assert lines[-1].strip() == "prompt tokens"
    assert drawn.count("●") >= 5
    assert lines[-2].split() == ["4k", "16k", "32k", "64k", "128k"]


@pytest.mark.usefixtures("_unicode")
@pytest.mark.parametrize("bad", [None, math.nan, math.inf, -math.inf])
def test_values_that_are_none_are_gaps(bad: float | None) -> None:
    assert draw_curve("t", [(1, 1), (2, bad), (3, 3)], x_label="x").count("●") == 2
    assert draw_curve("t", [(1, 1), (bad, 2)], x_label="x") == ""


@pytest.mark.parametrize("points", [[], [(1.0, 1.0)]])
def test_fewer_than_two_points_are_no_curve(points: list[tuple[float, float]]) -> None:
    assert draw_curve("t", points, x_label="x") == ""


@pytest.mark.usefixtures("_unicode")
def test_a_flat_line_at_zero_is_drawn() -> None:
    assert draw_curve("t", [(1024, 0.0), (2048, 0.0)], x_label="x").count("●") == 2


def test_without_unicode_the_curve_is_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve, "is_unicode", lambda stream: False)
    drawn = draw_curve("memory", [(x, x) for x in LENGTHS], x_label="x")
    assert drawn.isascii()
    assert drawn.count("o") >= 5


@given(st.sets(st.integers(1, 10**6), min_size=2, max_size=20))
def test_labels_never_run_into_each_other(lengths: set[int]) -> None:
    kept = spaced(lengths)
    span = max(lengths) - min(lengths)
    assert kept == sorted(kept)
    assert kept[-1] == max(lengths)
    assert all((b - a) / span * WIDTH >= 6 for a, b in pairwise(kept))


@given(st.floats(1e-6, 1e12))
def test_ticks_are_round_and_reach_above_the_highest_value(highest: float) -> None:
    ticks = nice_ticks(highest)
    assert ticks[0] == 0
    assert ticks[-1] >= highest * (1 - 1e-5)
    assert 2 <= len(ticks) <= 7
