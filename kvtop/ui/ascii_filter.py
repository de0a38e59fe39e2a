"""Draws only ASCII: for terminals without UTF-8, whatever a widget or foreign text holds."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from textual.filter import LineFilter

from kvtop.ui.drawing.glyphs import Glyphs

if TYPE_CHECKING:
    from textual.color import Color

_BOX = str.maketrans("─━│┃╭╮╰╯┌┐└┘├┤┬┴┼▔▁▏▕█▌▐▀▄", "--||+++++++++++++--||#####")
_GLYPHS = Glyphs(ascii=True)


class AsciiFilter(LineFilter):
    """Puts an ASCII character of the same width for every other one."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's
        """Return the segments of a line, the same list where there is nothing to do."""
        if all(text.isascii() for text, _, _ in segments):
            return segments
        return [Segment(ascii_twin(text), style, control) for text, style, control in segments]


@lru_cache(1024)
def ascii_twin(text: str) -> str:
    """Return `text` in ASCII, as many cells wide as before."""
    if text.isascii():
        return text
    known = _GLYPHS.shown(text).translate(_BOX)
    return "".join(character if character.isascii() else "?" * cell_len(character) for character in known)
