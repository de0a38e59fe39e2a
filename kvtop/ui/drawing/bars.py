"""Gauges: a bar for a fraction, with its text inside or beside, and a row of one-character levels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kvtop.ui.drawing.glyphs import Glyph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtop.ui.drawing.glyphs import Glyphs

Part = Literal["fill", "track", "text", "text-on-fill"]
"""`text-on-fill` stands where the bar is filled: drawn reversed it shows the bar's end without colour."""

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEVELS = "▁▂▃▄▅▆▇█"
_ASCII_LEVELS = "_.:-=+*#"


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters of a gauge that are drawn in one style."""

    text: str
    part: Part


def gauge(fraction: float | None, width: int, glyphs: Glyphs, text: str = "") -> tuple[Piece, ...]:
    """Return a bar of exactly `width` characters, with `text` over its middle where it fits.

    `text` is of our own making: characters one cell wide. `fraction` is 0 to 1; what lies outside is
    drawn as the nearer end, None and NaN as a bar without a value. Above 0 is never drawn empty and
    below 1 never full.
    """
    width = max(width, 0)
    fill, track = _bar(_known(fraction), width, glyphs)
    label = f" {text} " if text else ""
    if not label or len(label) > width:
        return _pieces((fill, "fill"), (track, "track"))
    start = (width - len(label)) // 2
    end = start + len(label)
    cut = len(fill)
    covered = min(max(cut - start, 0), len(label))
    return _pieces(
        (fill[:start], "fill"),
        (track[: max(start - cut, 0)], "track"),
        (label[:covered], "text-on-fill"),
        (label[covered:], "text"),
        (fill[end:], "fill"),
        (track[max(end - cut, 0) :], "track"),
    )


def gauge_beside(
    fraction: float | None, width: int, glyphs: Glyphs, text: str, text_width: int = 0
) -> tuple[Piece, ...]:
    """Return a bar with `text`, right-aligned to `text_width`, after it: `width` characters in all.

    Where the text leaves no room for three characters of bar it stands alone, cut to `width`.
    """
    label = f" {text:>{text_width}}"
    room = width - len(label)
    if room < 3:
        return _pieces((label[1:][: max(width, 0)].ljust(max(width, 0)), "text"))
    return (*gauge(fraction, room, glyphs), Piece(label, "text"))


def compact_gauge(name: str, fraction: float | None, width: int, glyphs: Glyphs) -> tuple[Piece, ...]:
    """Return name, bar and percentage in exactly `width` characters, for many GPUs in a grid."""
    percent = glyphs[Glyph.UNKNOWN] if (known := _known(fraction)) is None else f"{math.floor(known * 100)}%"
    head = f"{name} "
    if width - len(head) < len("100%"):
        return _pieces((f"{head}{percent}"[: max(width, 0)].ljust(max(width, 0)), "text"))
    return (Piece(head, "text"), *gauge_beside(fraction, width - len(head), glyphs, percent, len("100%")))


def level_row(fractions: Sequence[float | None], glyphs: Glyphs) -> str:
    """Return one character a fraction, higher for more; a dash for None."""
    levels = _ASCII_LEVELS if glyphs.ascii else _LEVELS
    return "".join(_level(_known(fraction), levels, glyphs) for fraction in fractions)


def _known(fraction: float | None) -> float | None:
    if fraction is None or math.isnan(fraction):
        return None
    return min(max(fraction, 0.0), 1.0)


def _bar(fraction: float | None, width: int, glyphs: Glyphs) -> tuple[str, str]:
    """Return the filled and the empty part."""
    if fraction is None:
        return "", glyphs[Glyph.BAR_UNKNOWN] * width
    steps = 1 if glyphs.ascii else 8
    whole, rest = divmod(_steps(fraction, width * steps), steps)
    fill = glyphs[Glyph.BAR_FULL] * whole + (_EIGHTHS[rest] if rest else "")
    return fill, glyphs[Glyph.BAR_EMPTY] * (width - len(fill))


def _steps(fraction: float, most: int) -> int:
    steps = round(fraction * most)
    if most > 1 and 0 < fraction < 1:
        return min(max(steps, 1), most - 1)
    return steps


def _level(fraction: float | None, levels: str, glyphs: Glyphs) -> str:
    if fraction is None:
        return glyphs[Glyph.UNKNOWN]
    return levels[min(int(fraction * len(levels)), len(levels) - 1)]


def _pieces(*pieces: tuple[str, Part]) -> tuple[Piece, ...]:
    return tuple(Piece(text, part) for text, part in pieces if text)
