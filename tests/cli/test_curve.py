from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtop.cli import curve
from kvtop.cli.curve import HEIGHT, Frame, draw_curve, nice_ticks, spaced, tick_labels

WIDTH = 76
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
    kept = spaced(lengths, WIDTH)
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


@pytest.mark.usefixtures("_unicode")
@pytest.mark.parametrize("bend", [0.5, 1.0, 1.7])
def test_the_line_runs_through_every_mark(bend: float) -> None:
    points = [(float(x), (x / 1000) ** bend) for x in range(1000, 20000, 1700)]
    frame = Frame.of(points, WIDTH, dots=(2, 4))
    rows = draw_curve("t", points, x_label="x").splitlines()[2:-3]
    left = rows[0].index("┤") + 1
    braille = {(x, len(rows) - 1 - y) for y, row in enumerate(rows) for x, c in enumerate(row) if c > "⠀"}
    for point in points:
        x, y = frame.cell_of(point)
        column = round((x - frame.x_start) / (frame.x_end - frame.x_start) * (frame.columns - 1))
        row = round(y / frame.ticks[-1] * (frame.rows - 1))
        assert rows[len(rows) - 1 - row][left + column] == "●"
        beside = {(left + column + dx, row + dy) for dx in (-1, 1) for dy in (-1, 0, 1)}
        assert beside & braille


@pytest.mark.usefixtures("_unicode")
@pytest.mark.parametrize("highest", [0.7, 1.0, 3.2, 4.9, 77.0, 130.0, 2048.0])
def test_ticks_are_evenly_spaced(highest: float) -> None:
    lines = draw_curve("t", [(1, highest / 3), (2, highest)], x_label="x").splitlines()[2:-3]
    ticked = [index for index, line in enumerate(lines) if "┤" in line]
    assert len({b - a for a, b in pairwise(ticked)}) == 1
    assert ticked[-1] == len(lines) - 1
    assert len(lines) + 5 <= HEIGHT


@pytest.mark.usefixtures("_unicode")
def test_places_on_the_horizontal_axis_may_have_names() -> None:
    drawn = draw_curve("t", [(1023, 1), (2048, 2), (8183, 3)], x_label="x", x_names={1023: "1k", 8183: "8k"})
    assert drawn.splitlines()[-2].split() == ["1k", "2k", "8k"]


@pytest.mark.usefixtures("_unicode")
@pytest.mark.parametrize(("columns", "wide"), [("60", 56), ("200", 116), ("20", 36), ("x", 76), ("0", 76)])
def test_columns_decide_the_width(monkeypatch: pytest.MonkeyPatch, columns: str, wide: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    drawn = draw_curve("t", [(1024, 1), (2048, 2)], x_label="x")
    assert max(map(len, drawn.splitlines())) == wide


def test_labels_of_ticks_have_the_same_decimals() -> None:
    assert tick_labels(nice_ticks(2.3)) == ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5"]
    assert tick_labels(nice_ticks(120_000)) == ["0", "50,000", "100,000", "150,000"]
