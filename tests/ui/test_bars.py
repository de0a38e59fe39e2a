from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from kvtop.ui.drawing.bars import Piece, compact_gauge, gauge, gauge_beside, level_row
from kvtop.ui.drawing.glyphs import Glyphs

if TYPE_CHECKING:
    from collections.abc import Iterable

UNICODE = Glyphs()
ASCII = Glyphs(ascii=True)
FRACTIONS = (None, math.nan, -1.0, 0.0, 1e-9, 0.1, 1 / 3, 0.5, 0.87, 0.9999, 1.0, 7.0)

both = pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])


def joined(pieces: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


@pytest.mark.parametrize(
    ("fraction", "unicode", "ascii_twin"),
    [
        (0.0, "░░░░", "...."),
        (0.5, "██░░", "##.."),
        (17 / 32, "██▏░", "##.."),
        (0.25 + 1 / 16, "█▎░░", "#..."),
        (1.0, "████", "####"),
        (2.0, "████", "####"),
        (-1.0, "░░░░", "...."),
        (0.001, "▏░░░", "#..."),
        (0.999, "███▉", "###."),
        (None, "╌╌╌╌", "----"),
        (math.nan, "╌╌╌╌", "----"),
    ],
)
def test_bar(fraction: float | None, unicode: str, ascii_twin: str) -> None:
    assert joined(gauge(fraction, 4, UNICODE)) == unicode
    assert joined(gauge(fraction, 4, ASCII)) == ascii_twin


def test_parts() -> None:
    assert gauge(0.5, 4, UNICODE) == (Piece("██", "fill"), Piece("░░", "track"))
    assert gauge(None, 2, UNICODE) == (Piece("╌╌", "track"),)
    assert gauge(0.0, 2, UNICODE) == (Piece("░░", "track"),)


def test_text_inside_shows_where_the_bar_ends() -> None:
    assert gauge(0.5, 10, UNICODE, "41 %") == (
        Piece("██", "fill"),
        Piece(" 41", "text-on-fill"),
        Piece(" % ", "text"),
        Piece("░░", "track"),
    )
    assert joined(gauge(0.9, 10, ASCII, "41 %")) == "## 41 % #."
    assert gauge(0.1, 10, UNICODE, "41 %")[1] == Piece("░", "track")


@both
@pytest.mark.parametrize("fraction", FRACTIONS)
@pytest.mark.parametrize("width", [-1, 0, 1, 2, 5, 14, 40])
def test_width_holds(fraction: float | None, width: int, glyphs: Glyphs) -> None:
    wanted = max(width, 0)
    assert len(joined(gauge(fraction, width, glyphs))) == wanted
    assert len(joined(gauge(fraction, width, glyphs, "98.2/140.4 GiB"))) == wanted
    assert len(joined(gauge_beside(fraction, width, glyphs, "98.2 GiB", 10))) == wanted
    assert len(joined(compact_gauge("15", fraction, width, glyphs))) == wanted
    if glyphs.ascii:
        assert joined(compact_gauge("15", fraction, width, glyphs)).isascii()


def test_text_that_does_not_fit_inside_is_left_out() -> None:
    assert joined(gauge(0.5, 4, UNICODE, "98.2/140.4 GiB")) == "██░░"


def test_text_beside() -> None:
    assert joined(gauge_beside(0.5, 12, UNICODE, "50 %", 5)) == "███░░░  50 %"
    assert joined(gauge_beside(0.5, 5, UNICODE, "50 %")) == "50 % "
    assert joined(gauge_beside(0.5, 3, UNICODE, "50 %")) == "50 "


def test_sixteen_gpus_in_four_columns_of_80() -> None:
    cells = [joined(compact_gauge(f"{index:>2}", index / 15, 19, UNICODE)) for index in range(16)]
    assert {len(cell) for cell in cells} == {19}
    assert cells[0] == " 0 ░░░░░░░░░░░   0%"
    assert cells[15] == "15 ███████████ 100%"
    assert joined(compact_gauge(" 3", None, 19, ASCII)) == " 3 -----------    -"


def test_percentages_never_say_full_before_it_is() -> None:
    assert joined(compact_gauge("0", 0.999, 19, UNICODE)).endswith(" 99%")


def test_levels() -> None:
    assert level_row([None, 0, 0.49, 0.5, 0.99, 1, 3, math.nan], UNICODE) == "–▁▄▅███–"
    assert level_row([None, 0, 0.5, 1], ASCII) == "-_=#"
    assert level_row([], UNICODE) == ""
