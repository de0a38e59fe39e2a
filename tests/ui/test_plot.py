from __future__ import annotations

import math
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtop.ui.drawing.chart import (
    Chart,
    Curve,
    Range,
    byte_unit,
    decimated,
    nice_ticks,
    second_unit,
    segments,
    short_tokens,
    spaced,
)
from kvtop.ui.drawing.picture import PLOT_ROLES, Row, Run, changed_columns
from kvtop.ui.drawing.plot import draw

SIZES = [(30, 8), (60, 18), (118, 33), (150, 45)]
LINE = tuple((x, x / 1000) for x in (4110.0, 16400.0, 32800.0, 65500.0, 131000.0))


def chart(*curves: Curve, notes: tuple[str, ...] = (), unit: str = "GiB") -> Chart:
    return Chart(curves or (Curve("memory", LINE),), unit, "device", notes)


def text(rows: tuple[Row, ...]) -> str:
    return "\n".join("".join(run.text for run in row) for row in rows)


def cells(rows: tuple[Row, ...], role: str) -> str:
    return "".join(run.text.replace(" ", "") for row in rows for run in row if run.role == role)


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("ascii_only", [False, True])
def test_fills_exactly_the_size_asked_for(width: int, height: int, ascii_only: bool) -> None:
    rows = draw(chart(notes=("slope 1 KiB/token",)), width, height, ascii_only=ascii_only)
    assert [len(line) for line in text(rows).split("\n")] == [width] * height


@pytest.mark.parametrize(("width", "height"), [(0, 0), (15, 20), (80, 3), (-1, 5)])
def test_draws_nothing_where_it_is_too_small(width: int, height: int) -> None:
    assert draw(chart(), width, height) == ()


def test_draws_nothing_without_a_finite_point() -> None:
    places = ((1.0, None), (None, 2.0), (3.0, math.nan), (math.inf, 4.0))
    assert draw(chart(Curve("memory", places)), 60, 18) == ()


def test_each_measured_length_has_a_mark_and_its_label() -> None:
    rows = draw(chart(), 118, 33)
    assert cells(rows, "curve-1").count("●") == len(LINE)
    assert text(rows).split("\n")[-1].split() == ["4.01k", "16k", "32k", "64k", "128k"]


def test_the_last_point_stands_at_the_right_end_and_the_first_tick_at_zero() -> None:
    lines = text(draw(chart(), 60, 18)).split("\n")
    assert any(line.endswith("●") for line in lines[:6])
    assert lines[-3].split("┤")[0].strip() == "0"


def test_the_unit_stands_beside_the_highest_tick() -> None:
    assert text(draw(chart(), 60, 18)).startswith("150 GiB┤")


def test_in_a_narrow_chart_the_unit_stands_in_the_corner_and_no_label_runs_into_it() -> None:
    last = text(draw(chart(unit="tok/s"), 30, 8)).split("\n")[-1]
    assert last.startswith("tok/s ")
    assert set(last.split()) <= {"tok/s", "4.01k", "16k", "32k", "64k", "128k"}


def test_a_gap_splits_the_line() -> None:
    whole = draw(chart(Curve("memory", ((0, 5), (50, 5), (100, 5)))), 60, 18)
    split = draw(chart(Curve("memory", ((0, 5), (50, None), (100, 5)))), 60, 18)
    assert len(cells(whole, "curve-1")) > 45
    assert cells(split, "curve-1") == "●●"


def test_what_is_not_finite_is_a_gap_too() -> None:
    with_nan = Curve("memory", ((0, 5), (50, math.nan), (100, 5), (math.inf, 7), (120, -math.inf)))
    assert cells(draw(chart(with_nan), 60, 18), "curve-1") == "●●"


def test_curves_differ_in_role_and_mark() -> None:
    rows = draw(chart(*(Curve(str(n), ((100, n + 1),), n) for n in range(6))), 60, 18)
    marks = [cells(rows, f"curve-{n}") for n in range(1, 7)]
    assert marks == ["●", "○", "■", "□", "▲", "△"]


def test_the_theory_line_is_dashed_and_has_no_marks() -> None:
    theory = Curve("theory", ((0, 0), (131000, 60)), dashed=True)
    drawn = cells(draw(chart(Curve("memory", ((131000, 131),)), theory), 118, 33), "theory")
    row = "".join(run.text for run in draw(chart(Curve("m", ((100, 9),)), theory), 118, 33)[-3])
    assert "●" not in drawn
    assert len(drawn) > 20
    assert " " in row.split("┤")[-1].strip()


def test_a_line_alone_without_a_measured_point_is_no_reason_to_fail() -> None:
    theory = Curve("theory", ((0, 0), (131000, 60)), dashed=True)
    assert len(draw(chart(theory), 60, 18)) == 18


def test_the_spread_of_repeats_is_drawn_below_the_mark() -> None:
    curve = Curve("TTFT", ((50, 5), (100, 5)), ranges=(Range(50, 1, 9),))
    rows = draw(chart(curve), 60, 18)
    assert len(cells(rows, "band")) > 7
    assert cells(rows, "curve-1").count("●") == 2


def test_ascii_is_ascii() -> None:
    theory = Curve("theory", ((0, 0), (131000, 60)), dashed=True)
    ranged = Curve("b", LINE[:2], 1, ranges=(Range(4110, 1, 9),))
    drawn = text(draw(chart(Curve("a", LINE), ranged, theory), 60, 18, ascii_only=True))
    assert drawn.isascii()
    assert {"o", "x", "-", "|", "+"} <= set(drawn)


def test_notes_stand_where_nothing_is_drawn() -> None:
    notes = ("slope 131.0 KiB/token", "R² 0.9998")
    without, with_notes = draw(chart(), 60, 18), draw(chart(notes=notes), 60, 18)
    assert [run.text.strip() for row in with_notes for run in row if run.role == "note"] == list(notes)
    for plain, noted in zip(text(without).split("\n"), text(with_notes).split("\n"), strict=True):
        kept = [a == b or a == " " for a, b in zip(plain, noted, strict=True)]
        assert all(kept)


def test_notes_without_room_are_cut_from_the_end_or_left_out() -> None:
    notes = ("slope 131.0 KiB/token", "95 % CI 130.0 – 131.5", "R² 0.9998", "theory 128.0 KiB/token")
    assert "slope" in text(draw(chart(notes=notes), 60, 9))
    assert "theory" not in text(draw(chart(notes=notes), 60, 9))
    assert "slope" not in text(draw(chart(notes=notes), 24, 6))


def test_room_is_kept_for_points_to_come() -> None:
    begun = Chart((Curve("memory", ((4096, 4), (16384, 16))),), "GiB", "device", x_end=131072)
    lines = text(draw(begun, 60, 18)).split("\n")
    assert all(line[20:].strip("─┬ ") == "" for line in lines if "●" in line)


def test_a_hundred_thousand_points_are_decimated_and_keep_their_extremes() -> None:
    points = [(float(x), float(x % 7)) for x in range(100_000)]
    points[54_321] = (54_321.0, 99.0)
    kept = decimated(points, 100)
    assert len(kept) <= 200
    assert (54_321.0, 99.0) in kept
    assert kept == sorted(kept)


def test_points_at_one_place_are_decimated_too() -> None:
    assert decimated([(5.0, float(y)) for y in range(50)], 10) == [(5.0, 0.0), (5.0, 49.0)]


def test_segments_begin_and_end_at_gaps() -> None:
    places = [(None, 1.0), (1.0, 1.0), (2.0, 2.0), (3.0, None), (4.0, 4.0), (5.0, math.nan)]
    assert segments(places) == [[(1.0, 1.0), (2.0, 2.0)], [(4.0, 4.0)]]


@pytest.mark.parametrize(
    ("highest", "most", "ticks"),
    [
        (1.03, 4, [0, 0.5, 1, 1.5]),
        (561, 3, [0, 200, 400, 600]),
        (7, 1, [0, 10]),
        (0, 4, [0, 1]),
        (math.nan, 4, [0, 1]),
    ],
)
def test_ticks_are_round(highest: float, most: int, ticks: list[float]) -> None:
    assert nice_ticks(highest, most) == ticks


@given(st.floats(min_value=1e-9, max_value=1e18), st.integers(min_value=1, max_value=8))
def test_ticks_are_few_and_reach_the_highest(highest: float, most: int) -> None:
    ticks = nice_ticks(highest, most)
    assert ticks[-1] >= highest * (1 - 1e-6)
    assert 2 <= len(ticks) <= most + 1
    assert all(low < high for low, high in pairwise(ticks))


def test_labels_keep_their_distance_and_the_largest_stays() -> None:
    assert spaced([1, 2, 4, 8, 128, 128], 128, 50, 7) == [8, 128]


@pytest.mark.parametrize(
    ("tokens", "label"),
    [(512, "512"), (1024, "1k"), (4110, "4.01k"), (131072, "128k"), (8191, "8k"), (1048576, "1M")],
)
def test_token_labels(tokens: float, label: str) -> None:
    assert short_tokens(tokens) == label


def test_units_follow_the_highest_value() -> None:
    assert [byte_unit(size)[0] for size in (0, 5e3, 5e6, 5e9)] == ["B", "KiB", "MiB", "GiB"]
    assert [second_unit(seconds)[0] for seconds in (0, 0.9, 1, 300)] == ["ms", "ms", "s", "s"]


@pytest.mark.parametrize(
    ("before", "after", "columns"),
    [
        ((Run("abc", "x"),), (Run("abc", "x"),), None),
        ((Run("abc  ", "x"),), (Run("abc", "x"), Run("  ", "y")), None),
        ((Run("abc", "x"),), (Run("aXc", "x"),), (1, 1)),
        ((Run("abc", "x"),), (Run("ab", "x"), Run("c", "y")), (2, 1)),
        ((), (Run("  cd", "x"),), (2, 2)),
        ((Run("字字", "x"),), (Run("字b", "x"),), (0, 8)),
    ],
)
def test_changed_columns(before: Row, after: Row, columns: tuple[int, int] | None) -> None:
    assert changed_columns(before, after, 8) == columns


values = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True), st.integers(-5, 10**7))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.tuples(values, values), max_size=12), min_size=1, max_size=4),
    st.integers(0, 70),
    st.integers(0, 20),
    st.booleans(),
)
def test_never_raises_and_keeps_its_size(
    curves: list[list[tuple[float | None, float | None]]], width: int, height: int, ascii_only: bool
) -> None:
    drawn = chart(*(Curve(str(n), tuple(places), n) for n, places in enumerate(curves)))
    rows = draw(drawn, width, height, ascii_only=ascii_only)
    assert not rows or [len(line) for line in text(rows).split("\n")] == [width] * height
    assert {run.role for row in rows for run in row} <= set(PLOT_ROLES)


def test_plotext_is_loaded_when_first_needed() -> None:
    code = """
import sys, kvtop.ui.drawing.plot as plot, kvtop.ui.widgets.curve_panel
print("plotext" in sys.modules, plot.is_loaded())
plot.load()
print("plotext" in sys.modules, plot.is_loaded())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True", "True"]
