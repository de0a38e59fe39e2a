from __future__ import annotations

import unicodedata

import pytest
from rich.cells import cell_len

from kvtop.ui.drawing.glyphs import Glyph, Glyphs

STATES = (
    *(Glyph.RUNNING, Glyph.DONE, Glyph.FAILED, Glyph.WAITING, Glyph.CANCELLED, Glyph.INTERRUPTED),
    *(Glyph.WARNING, Glyph.STALE, Glyph.SIMULATED),
)
EMOJI_WIDE = frozenset("▶◀▪▫◻◼◽◾⏸⏹⚠✔✖ℹ↔↕")
"""Characters that some terminals draw as emoji, two cells wide."""


@pytest.mark.parametrize("glyph", Glyph)
def test_the_twin_is_ascii_and_as_wide(glyph: Glyph) -> None:
    assert glyph.ascii.isascii()
    assert glyph.ascii.isprintable()
    assert len(glyph.ascii) == cell_len(glyph.unicode) == len(glyph.unicode)


@pytest.mark.parametrize("glyph", Glyph)
def test_no_glyph_is_wide_or_an_emoji(glyph: Glyph) -> None:
    assert not EMOJI_WIDE & set(glyph.unicode)
    assert {unicodedata.east_asian_width(c) for c in glyph.unicode} <= {"N", "Na", "A"}


def test_states_are_told_apart_without_colour() -> None:
    for glyphs in (Glyphs(), Glyphs(ascii=True)):
        assert len({glyphs[glyph] for glyph in STATES}) == len(STATES)


def test_an_empty_gauge_is_not_an_unknown_one() -> None:
    for glyphs in (Glyphs(), Glyphs(ascii=True)):
        bars = {glyphs[glyph] for glyph in (Glyph.BAR_FULL, Glyph.BAR_EMPTY, Glyph.BAR_UNKNOWN)}
        assert len(bars) == 3


def test_border_and_text_follow() -> None:
    assert (Glyphs().border, Glyphs(ascii=True).border) == ("round", "ascii")
    assert Glyphs().shown("64 °C · 3 × 4k …") == "64 °C · 3 × 4k …"
    assert Glyphs(ascii=True).shown("64 °C · 3 × 4k …") == "64  C | 3 x 4k ~"
    assert Glyphs(ascii=True).shown("plain") == "plain"
