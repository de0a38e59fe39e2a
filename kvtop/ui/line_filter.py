"""The second net: no control character of a drawn line reaches the terminal.

The first net is `kvtop.model.text.clean_text`, where foreign text enters a model type.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from textual.filter import LineFilter

if TYPE_CHECKING:
    from rich.style import Style
    from textual.color import Color

PLACEHOLDER = "?"
"""Stands for a removed character that had a width, so that the line keeps its own."""

_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = frozenset({"\u200c", "\u200d"})


class ControlFilter(LineFilter):
    """Takes control, C1, bidirectional and other format characters and lone surrogates out of lines.

    For `App.get_line_filters`. Hyperlinks whose address holds such a character lose the address:
    it is written to the terminal too.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's
        """Return the segments of a line, the same list where there is nothing to do."""
        if all(_is_safe(text, style) for text, style, _ in segments):
            return segments
        return [
            Segment(printable(text), _without_unsafe_link(style), control)
            for text, style, control in segments
        ]


def printable(text: str) -> str:
    """Return `text` without characters that a terminal acts on, as many cells wide as before."""
    return text if text.isprintable() else "".join(map(_replacement, text))


def _is_safe(text: str, style: Style | None) -> bool:
    """Whether a segment may pass; `isprintable` is False for all unsafe characters and a few others."""
    return text.isprintable() and (style is None or style.link is None or style.link.isprintable())


@lru_cache(256)
def _replacement(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in _UNSAFE_CATEGORIES:
        return character
    return PLACEHOLDER * cell_len(character)


def _without_unsafe_link(style: Style | None) -> Style | None:
    if style is None or style.link is None or style.link.isprintable():
        return style
    return style.update_link(None)
