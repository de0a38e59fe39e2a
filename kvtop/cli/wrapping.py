"""Long lines of text: broken at spaces, and long paths after a slash."""

from __future__ import annotations

import re
import sys
from typing import TextIO

from kvtop.cli.streams import columns, is_tty, named_columns

_MARGIN = 4
_NARROWEST = 36
_WIDEST = 116
_PATH_PIECES = re.compile(r"[^/]*/+|[^/]+")


def text_width(stream: TextIO | None = None) -> int:
    """Return the width of paragraphs and curves on `stream`, stdout where none is given: 76 of 80 columns."""
    wide = columns(sys.stdout if stream is None else stream)
    return min(max(wide - _MARGIN, _NARROWEST), _WIDEST)


def note_width(stream: TextIO | None) -> int | None:
    """Return the width of single remarks on `stream`; None, for one line each, where nobody has a width."""
    return text_width(stream) if is_tty(stream) or named_columns() else None


def wrapped(text: str, width: int | None, *, first: str = "", rest: str = "") -> list[str]:
    """Return `text` in lines of at most `width`, the first one after `first` and the others after `rest`.

    A word that no line can take is broken after slashes; a piece that is still too long stays whole.
    """
    if width is None:
        return [first + " ".join(text.split())]
    lines: list[str] = []
    line, is_empty = first, True
    for word in text.split():
        for index, piece in enumerate(_pieces(word, width - len(rest))):
            glue = "" if is_empty or index else " "
            if not is_empty and len(line) + len(glue) + len(piece) > width:
                lines.append(line)
                line, glue = rest, ""
            line, is_empty = line + glue + piece, False
    return [*lines, line]


def _pieces(word: str, room: int) -> list[str]:
    return [word] if len(word) <= room else _PATH_PIECES.findall(word)
