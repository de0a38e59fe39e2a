from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from kvtop.ui.drawing.braille import draw_history, draw_marks, peaks

if TYPE_CHECKING:
    from collections.abc import Sequence


def dots_in(cell: str) -> int:
    return 0 if cell == " " else (ord(cell) - 0x2800).bit_count()


def test_one_cell_dot_by_dot() -> None:
    drawn = [draw_history([value, 0.0], 1, 1, 0, 4)[0] for value in (1.0, 2.0, 3.0, 4.0)]
    assert drawn == ["⣀", "⣄", "⣆", "⣇"]
    drawn = [draw_history([0.0, value], 1, 1, 0, 4)[0] for value in (1.0, 2.0, 3.0, 4.0)]
    assert drawn == ["⣀", "⣠", "⣰", "⣸"]


def test_area_is_filled_from_below() -> None:
    assert draw_history([1, 2, 3, 4, 5, 6, 7, 8], 4, 2, 0, 8) == ("  ⣠⣾", "⣠⣾⣿⣿")


def test_a_gap_is_not_a_zero() -> None:
    assert draw_history([0, 0, None, None, math.nan, math.inf, 8, 8], 4, 2, 0, 8) == ("   ⣿", "⣀  ⣿")
    assert draw_history([8, None, None, 8], 2, 1, 0, 8) == ("⡇⢸",)


def test_the_newest_value_is_on_the_right() -> None:
    assert draw_history([8, 8], 3, 1, 0, 8) == ("  ⣿",)
    assert draw_history([8, 8, 0, 0], 1, 1, 0, 8) == ("⣀",)


def test_values_outside_stay_at_the_edge() -> None:
    assert draw_history([-5, 99], 1, 1, 0, 4) == ("⣸",)
    assert draw_history([1e308, -1e308], 1, 1, 0, 4) == ("⣇",)


@pytest.mark.parametrize(("low", "high"), [(5, 5), (5, 1)])
def test_a_scale_without_height_draws_the_floor(low: float, high: float) -> None:
    assert draw_history([5, 5, None, None], 2, 2, low, high) == ("  ", "⣀ ")


@pytest.mark.parametrize(("width", "height", "rows"), [(0, 0, 0), (0, 3, 3), (5, 0, 0), (-1, -1, 0)])
def test_no_room(width: int, height: int, rows: int) -> None:
    assert draw_history([1, 2, 3], width, height, 0, 4) == ("",) * rows
    assert draw_marks([1, 1], 0) == draw_marks([1, 1], -1) == ""


def test_ascii() -> None:
    values = [1, 1, 2, 2, 3, 3, 4, 4, None, None, 8, 8]
    assert draw_history(values, 6, 2, 0, 8, ascii_only=True) == ("     #", ".:|# #")


@pytest.mark.parametrize("ascii_only", [False, True])
def test_size_characters_and_monotony(*, ascii_only: bool) -> None:
    random.seed(7)
    values = [random.choice([None, random.uniform(-10, 200)]) for _ in range(500)]
    rows = draw_history(values, 120, 8, 0, 140, ascii_only=ascii_only)
    assert [len(row) for row in rows] == [120] * 8
    allowed = set(" .:|#") if ascii_only else {" ", *map(chr, range(0x2801, 0x2900))}
    assert {cell for row in rows for cell in row} <= allowed


def test_no_dot_hangs_in_the_air() -> None:
    random.seed(11)
    rows = draw_history([random.uniform(0, 140) for _ in range(80)], 40, 6, 0, 140)
    for above, below in pairwise(rows):
        assert all(dots_in(high) <= dots_in(low) for high, low in zip(above, below, strict=True))


def test_marks() -> None:
    assert draw_marks([1, 0, 0, 1, 1, 1, 0, None], 4) == "⠃⠘⠛ "
    assert draw_marks([1, 0, 0, 1, 1, 1, 0, None], 4, ascii_only=True) == "^^^ "
    assert draw_marks([1], 3) == "  ⠘"


def series(count: int, window: int, columns: int, kept: int = 10_000) -> Sequence[float | None]:
    values = [float(index) for index in range(count)]
    return peaks(values[-kept:], columns, window, count)


def test_peaks_keep_the_highest_of_each_bin() -> None:
    assert peaks([1, 9, 2, None, None, None, 3, 4], 4, 8, 8) == [9, 2, None, 4]
    assert peaks([1, math.nan, math.inf, 2], 2, 4, 4) == [1, 2]


def test_a_picture_moves_only_when_a_bin_is_complete() -> None:
    before, after, next_bin = (series(count, 300, 100) for count in (298, 300, 301))
    assert before[:-1] == after[:-1]
    assert next_bin[:-1] == after[1:]


@pytest.mark.parametrize("columns", [1, 7, 100, 236, 300, 301, 450, 900])
def test_every_value_is_in_the_picture_and_the_newest_is_last(columns: int) -> None:
    for count in (300, 301, 317, 1000):
        found = series(count, 300, columns)
        assert len(found) == columns
        assert found[-1] == count - 1
        known = [value for value in found if value is not None]
        assert known == sorted(known)
        assert len(set(known)) >= min(columns, 300) - 1


def test_fewer_values_than_columns_leave_the_old_end_blank() -> None:
    assert series(2, 4, 8) == [None, None, None, None, 0, 0, 1, 1]
    assert series(3, 300, 6)[-1] == 2
    assert peaks([], 4, 300, 0) == [None] * 4


def test_what_is_no_longer_kept_is_a_gap() -> None:
    assert series(100, 100, 10, kept=35)[:6] == [None] * 6
    assert series(100, 100, 10, kept=35)[-3:] == [79, 89, 99]


@pytest.mark.parametrize(("columns", "window"), [(0, 300), (-3, 300), (5, 0)])
def test_peaks_without_room(columns: int, window: int) -> None:
    assert peaks([1, 2], columns, window, 2) == [None] * max(columns, 0)
