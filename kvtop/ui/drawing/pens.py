"""What a terminal draws with: attributes and colours as SGR codes, and the shortest way to others."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from textual.strip import Strip

if TYPE_CHECKING:
    from rich.color import ColorSystem
    from rich.style import Style

Pen = tuple[tuple[str, ...], str, str]
"""Codes of the attributes, the foreground, the background. No foreground: it cannot be seen."""

NO_PEN: Pen = ((), "39", "49")
"""What SGR 0 leaves (ECMA-48, 8.3.117, as are all codes here)."""

_OFF = {
    "1": "22", "2": "22", "3": "23", "4": "24", "5": "25", "6": "25", "7": "27", "8": "28", "9": "29",
    "21": "24", "51": "54", "52": "54", "53": "55",
}  # fmt: skip
_UNSEEN_ON_BLANKS = frozenset(("1", "2", "3"))
"""Bold, dim, italic."""


@lru_cache(4096)
def pens_of(style: Style, colors: ColorSystem) -> tuple[Pen, Pen]:
    """Return the pens of a style for characters and for blanks."""
    codes = Strip.render_ansi(style.without_color, colors)
    attributes = tuple(codes.split(";")) if codes else ()
    front, ground = style.color, style.bgcolor
    foreground = ";".join(front.downgrade(colors).get_ansi_codes()) if front else "39"
    background = ";".join(ground.downgrade(colors).get_ansi_codes(foreground=False)) if ground else "49"
    pen = attributes, foreground, background
    return pen, ((), "", background) if _UNSEEN_ON_BLANKS.issuperset(attributes) else pen


@lru_cache(4096)
def change(pen: Pen, wanted: Pen) -> tuple[str, Pen]:
    """Return the sequence from one pen to another, perhaps none, and the pen that the terminal has then."""
    attributes, foreground, background = wanted
    if not foreground:
        foreground = pen[1]
        attributes = pen[0] if _UNSEEN_ON_BLANKS.issuperset(pen[0]) else ()
    gone = dict.fromkeys(_OFF[code] for code in pen[0] if code not in attributes)
    come = [code for code in attributes if gone or code not in pen[0]]
    colors = [new for old, new in ((pen[1], foreground), (pen[2], background)) if old != new]
    codes = ";".join((*gone, *come, *colors))
    return f"\x1b[{codes}m" if codes else "", (attributes, foreground, background)
