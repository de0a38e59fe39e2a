"""How the state of a run is shown: a glyph, a word, and a style that neither needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtop.ui.drawing.glyphs import Glyph

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvtop.ui.drawing.glyphs import Glyphs

STATE_GLYPHS: Mapping[str, Glyph] = {
    "running": Glyph.RUNNING,
    "done": Glyph.DONE,
    "failed": Glyph.FAILED,
    "cancelled": Glyph.CANCELLED,
    "interrupted": Glyph.INTERRUPTED,
    "unreadable": Glyph.WARNING,
}
STATE_STYLES: Mapping[str, str] = {
    "running": "strong",
    "failed": "bad",
    "cancelled": "warning",
    "interrupted": "bad",
    "unreadable": "bad",
}
STATE_WIDTH = 13
"""Cells that the longest state takes with its glyph."""


def state_text(state: str, glyphs: Glyphs) -> str:
    """Return glyph and word of a state."""
    return f"{glyphs[STATE_GLYPHS.get(state, Glyph.UNKNOWN)]} {state}"
