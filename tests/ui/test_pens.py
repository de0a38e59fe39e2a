from __future__ import annotations

import pytest
from rich.color import ColorSystem
from rich.style import Style

from kvtop.ui.drawing.pens import NO_PEN, Pen, change, pens_of

BOLD_RED: Pen = (("1",), "31", "49")


@pytest.mark.parametrize(
    ("style", "colors", "pen"),
    [
        ("", ColorSystem.TRUECOLOR, NO_PEN),
        ("bold red", ColorSystem.STANDARD, BOLD_RED),
        ("#010203 on #040506", ColorSystem.TRUECOLOR, ((), "38;2;1;2;3", "48;2;4;5;6")),
        ("#ffffff on #000000", ColorSystem.EIGHT_BIT, ((), "38;5;231", "48;5;16")),
        ("underline reverse", ColorSystem.STANDARD, (("4", "7"), "39", "49")),
    ],
)
def test_pen_of_a_style(style: str, colors: ColorSystem, pen: Pen) -> None:
    assert pens_of(Style.parse(style), colors)[0] == pen


def test_colour_of_a_blank_is_not_seen_unless_it_is_underlined_or_reversed() -> None:
    assert pens_of(Style.parse("bold red on blue"), ColorSystem.STANDARD)[1] == ((), "", "44")
    assert pens_of(Style.parse("reverse red"), ColorSystem.STANDARD)[1] == (("7",), "31", "49")


@pytest.mark.parametrize(
    ("pen", "wanted", "sequence", "left"),
    [
        (NO_PEN, NO_PEN, "", NO_PEN),
        (NO_PEN, BOLD_RED, "\x1b[1;31m", BOLD_RED),
        (BOLD_RED, NO_PEN, "\x1b[22;39m", NO_PEN),
        ((("1", "2"), "39", "49"), (("2",), "39", "49"), "\x1b[22;2m", (("2",), "39", "49")),
        (BOLD_RED, ((), "", "49"), "", BOLD_RED),
        (BOLD_RED, ((), "", "44"), "\x1b[44m", (("1",), "31", "44")),
        ((("4",), "31", "49"), ((), "", "49"), "\x1b[24m", ((), "31", "49")),
    ],
)
def test_change_is_as_short_as_can_be(pen: Pen, wanted: Pen, sequence: str, left: Pen) -> None:
    assert change(pen, wanted) == (sequence, left)
