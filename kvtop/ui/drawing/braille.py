"""A history drawn as a filled area: braille with 2×4 dots a cell, or ASCII with four steps a cell."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

DOTS_WIDE = 2
"""Dot columns in a cell."""
DOTS_HIGH = 4
"""Dot rows in a cell."""

# Dots of one cell column filled from below to 0 … 4, as bits of U+2800 (Unicode 15, Braille Patterns).
_LEFT = (0, 0x40, 0x44, 0x46, 0x47)
_RIGHT = (0, 0x80, 0xA0, 0xB0, 0xB8)
_BRAILLE = tuple(chr(0x2800 + left + right) if left + right else " " for left in _LEFT for right in _RIGHT)
_LOWEST = -math.inf
_STEPS = " .:|#"
_ASCII = tuple(_STEPS[max(left, right)] for left in range(5) for right in range(5))
_MARKS = (" ", "⠘", "⠃", "⠛")
_ASCII_MARKS = (" ", "^", "^", "^")


def draw_history(
    values: Sequence[float | None],
    width: int,
    height: int,
    low: float,
    high: float,
    *,
    ascii_only: bool = False,
) -> tuple[str, ...]:
    """Return `height` rows of `width` characters, the top one first.

    `values` holds one value per dot column (`2 * width`), the newest last; more are cut at the old
    end, fewer leave it blank. `low` is the floor and `high` the ceiling of the picture; what lies
    outside is drawn at its edge. A known value is at least one dot high; None and what is not
    finite is a gap.
    """
    columns = max(width, 0) * DOTS_WIDE
    heights = [
        _dots(value, low, high, height * DOTS_HIGH) for value in values[max(len(values) - columns, 0) :]
    ]
    heights = [0] * (columns - len(heights)) + heights
    cells = _ASCII if ascii_only else _BRAILLE
    return tuple(_row(heights, row, height, cells) for row in reversed(range(height)))


def draw_marks(values: Sequence[float | None], width: int, *, ascii_only: bool = False) -> str:
    """Return one row of `width` characters with a mark under each dot column whose value is above 0.

    `values` are aligned as in `draw_history`.
    """
    columns = max(width, 0) * DOTS_WIDE
    flags = [bool(value) for value in values[max(len(values) - columns, 0) :]]
    flags = [False] * (columns - len(flags)) + flags
    marks = _ASCII_MARKS if ascii_only else _MARKS
    return "".join([marks[2 * left + right] for left, right in zip(flags[::2], flags[1::2], strict=True)])


def peaks(values: Sequence[float | None], columns: int, window: int, total: int) -> list[float | None]:
    """Return the highest value of each of `columns` bins, the newest last, of the `window` newest values.

    `values` are the newest ones kept, `total` is how many were ever taken. Bins are cut at fixed
    places of the whole series, so a picture moves only when a bin is complete and never shimmers.
    With fewer values than columns each value fills several. A bin without a known value is None.
    """
    if columns <= 0 or window <= 0 or total <= 0:
        return [None] * max(columns, 0)
    newest = (total * columns - 1) // window
    kept_from = total - len(values)
    known = [_LOWEST if value is None or not math.isfinite(value) else value for value in values]
    bins = [column * window // columns - kept_from for column in range(newest - columns + 1, newest + 2)]
    return [_peak(known, start, end) for start, end in pairwise(bins)]


def _peak(known: Sequence[float], start: int, end: int) -> float | None:
    peak = max(known[max(start, 0) : max(end, start + 1, 0)], default=_LOWEST)
    return None if peak == _LOWEST else peak


def _dots(value: float | None, low: float, high: float, dots: int) -> int:
    """Return how many dots high a value is drawn: 0 for a gap, else 1 to `dots`."""
    if value is None or not math.isfinite(value):
        return 0
    span = high - low
    share = (value - low) / span if span > 0 else 0.0
    return max(1, min(dots, round(share * dots)))


def _row(heights: Sequence[int], row: int, height: int, cells: tuple[str, ...]) -> str:
    """Return the characters of one row, where row 0 is the lowest."""
    below = row * DOTS_HIGH
    if max(heights, default=0) <= below:
        return " " * (len(heights) // DOTS_WIDE)
    filled = [min(max(dots - below, 0), DOTS_HIGH) for dots in range(height * DOTS_HIGH + 1)]
    pairs = zip(heights[::2], heights[1::2], strict=True)
    return "".join([cells[filled[left] * 5 + filled[right]] for left, right in pairs])
