"""Places the rows of GPUs: one a line, or several side by side where lines are fewer than GPUs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.cells import cell_len

from kvtop.model.quantity import UNKNOWN
from kvtop.ui.drawing.bars import gauge
from kvtop.ui.drawing.glyphs import Glyph
from kvtop.ui.widgets.painted_lines import fitted, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtop.ui.drawing.glyphs import Glyphs
    from kvtop.ui.widgets.gpu_rows import GpuRow
    from kvtop.ui.widgets.painted_lines import Line, Painted

SHAPES = (
    ("name", "bar", "memory", "delta", "load", "power", "temp"),
    ("bar", "memory", "delta", "load", "power", "temp"),
    ("bar", "memory", "delta", "load", "power"),
    ("bar", "memory", "load", "power"),
    ("bar", "memory", "load"),
    ("bar", "percent", "load"),
    ("bar", "percent"),
)
"""Parts of a row, richest first; the index and its mark stand before them."""

SHORTEST_BAR = 6
LONGEST_BAR = 40
NARROWEST = 8
"""Cells of a row that still tells something: index, mark and percentage."""

_LEAST = {"name": 4, "memory": 8, "delta": 6, "load": 4, "power": 5, "temp": 4, "percent": 4}
_LONGEST_NAME = 12
_FULL = (0.95, 0.985)
"""Shares from which the bar changes its colour; engines fill some 90 % by intent."""


def draw_gpus(rows: Sequence[GpuRow], width: int, height: int, glyphs: Glyphs) -> tuple[Line, ...]:
    """Return at most `height` lines of `width` cells that hold all rows."""
    if not rows or height <= 0 or width <= 0:
        return ()
    columns = min(math.ceil(len(rows) / height), max(width // (NARROWEST + 2), 1))
    if columns == 1 and len(rows) > height:
        return _cut(rows, width, height, glyphs)
    lines = math.ceil(len(rows) / columns)
    if lines > height:
        return _cut(rows[: height * columns], width, height, glyphs, columns, len(rows))
    return _grid(rows, width, lines, columns, glyphs)


def _cut(
    rows: Sequence[GpuRow], width: int, height: int, glyphs: Glyphs, columns: int = 1, total: int = 0
) -> tuple[Line, ...]:
    """Show as many as there is room for, and how many there are besides."""
    shown = (height - 1) * columns
    hidden = (total or len(rows)) - shown
    grid = _grid(rows[:shown], width, height - 1, columns, glyphs)
    note = glyphs.shown(f"and {hidden} more GPUs: make the panel larger")
    return (*grid, ((fitted(note, width, glyphs[Glyph.ELLIPSIS]), "warning"),))


def _grid(rows: Sequence[GpuRow], width: int, lines: int, columns: int, glyphs: Glyphs) -> tuple[Line, ...]:
    gap = 2 if columns > 1 else 0
    cell_width = (width - gap * (columns - 1)) // columns
    widths = _part_widths(rows)
    shape, bar = _choose(widths, cell_width)
    drawn = [_draw_row(row, shape, widths, bar, glyphs) for row in rows]
    return tuple(
        joined(
            [
                piece
                for index in range(line, len(rows), lines)
                for piece in (*drawn[index], (" " * gap, "text"))
            ]
        )
        for line in range(lines)
    )


def _part_widths(rows: Sequence[GpuRow]) -> dict[str, int]:
    """Return the width of each part, the same for all rows so that they stand in columns."""
    widths = {
        part: max(least, max((cell_len(_part(row, part)) for row in rows), default=0))
        for part, least in _LEAST.items()
    }
    widths["name"] = min(widths["name"], _LONGEST_NAME)
    widths["index"] = max((len(row.index) for row in rows), default=1)
    return widths


def _choose(widths: dict[str, int], width: int) -> tuple[tuple[str, ...], int]:
    """Return the richest shape that leaves room for a bar, and the bar's width."""
    head = widths["index"] + 1
    for shape in SHAPES:
        room = width - head - sum(widths[part] + 1 for part in shape if part != "bar") - 1
        if room >= SHORTEST_BAR:
            return shape, min(room, LONGEST_BAR)
    return SHAPES[-1], max(width - head - widths["percent"] - 2, 0)


def _draw_row(
    row: GpuRow, shape: tuple[str, ...], widths: dict[str, int], bar: int, glyphs: Glyphs
) -> list[Painted]:
    style = "text" if row.state == "live" else "muted"
    pieces: list[Painted] = [(f"{row.index:>{widths['index']}}", style), _mark(row, glyphs)]
    tail = [part for part in shape if part in ("load", "power", "temp")]
    for part in shape:
        if part in tail and row.state != "live":
            continue
        pieces += _draw_part(row, part, widths, bar, glyphs, style)
    if tail and row.state != "live":
        room = sum(widths[part] + 1 for part in tail) - 1
        note_style = "bad" if row.state == "lost" else "warning"
        note = row.note if len(row.note) <= room else row.note.split()[0]
        pieces += [(" ", style), (fitted(note.rjust(room), room, glyphs[Glyph.ELLIPSIS]), note_style)]
    return pieces


def _draw_part(
    row: GpuRow, part: str, widths: dict[str, int], bar: int, glyphs: Glyphs, style: str
) -> list[Painted]:
    if part == "bar":
        fill = _fill(row.fraction) if row.state == "live" else "muted"
        styles = {"fill": fill, "track": "track"}
        return [
            (" ", style),
            *((piece.text, styles.get(piece.part, style)) for piece in gauge(row.fraction, bar, glyphs)),
        ]
    width = widths[part]
    text = glyphs.shown(_part(row, part))
    if part == "name":
        return [(f" {fitted(text, width, glyphs[Glyph.ELLIPSIS])}", style)]
    if part == "delta":
        return [(f" {text:<{width}}", style)]
    return [(f" {text:>{width}}", style)]


def _mark(row: GpuRow, glyphs: Glyphs) -> Painted:
    """Return the character after the index: a state that colour alone must not tell."""
    if row.state == "lost":
        return glyphs[Glyph.FAILED], "bad"
    return (glyphs[Glyph.STALE], "warning") if row.state == "stale" else (" ", "text")


def _part(row: GpuRow, part: str) -> str:
    if part == "percent":
        return UNKNOWN if row.fraction is None else f"{math.floor(row.fraction * 100)}%"
    return str(getattr(row, part))


def _fill(fraction: float | None) -> str:
    share = fraction or 0.0
    return "fill-high" if share >= _FULL[1] else "fill-mid" if share >= _FULL[0] else "fill-low"
