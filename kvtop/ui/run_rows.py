"""The archive's runs as rows of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from kvtop.model.quantity import format_seconds
from kvtop.ui.drawing.glyphs import Glyph
from kvtop.ui.run_state import STATE_WIDTH, state_text

if TYPE_CHECKING:
    from kvtop.runs.archive import RunSummary
    from kvtop.ui.drawing.glyphs import Glyphs

_SENT, _FAILED, _TOOK, _ORIGIN = 6, 8, 12, 13
_WIDE = 90
"""Narrower lists leave out how long a run took."""
_SHORTEST_ID = 20
_COLORS = {
    "running": "$text-success",
    "failed": "$text-error",
    "interrupted": "$text-error",
    "cancelled": "$text-warning",
    "unreadable": "$text-error",
}


def run_header(width: int) -> Content:
    """Return the names of the columns."""
    columns = _columns(width, "sent", "failed", "took", "profile")
    return Content(f"{_fit('state', STATE_WIDTH)} {_fit('run', _id_width(width))}{columns}")


def run_row(summary: RunSummary, width: int, glyphs: Glyphs) -> Content:
    """Return one run in `width` cells; an unreadable one says why in place of its numbers."""
    state = "unreadable" if summary.problem is not None else summary.state
    shown = Content.styled(_fit(state_text(state, glyphs), STATE_WIDTH), _COLORS.get(state, ""))
    if summary.problem is not None:
        told = f"{summary.id}  {glyphs.shown(summary.problem)}"
        return Content.assemble(shown, " ", _fit(told, width - STATE_WIDTH - 1, glyphs))
    name = _fit(summary.id, _id_width(width), glyphs)
    return Content.assemble(shown, " ", name, _numbers(summary, width, glyphs))


def _numbers(summary: RunSummary, width: int, glyphs: Glyphs) -> str:
    took_s = None
    if summary.ended_ts is not None and summary.created_ts is not None:
        took_s = summary.ended_ts - summary.created_ts
    simulated = f"{glyphs[Glyph.SIMULATED]} SIMULATED"
    origin = simulated if summary.simulated else summary.profile or glyphs[Glyph.UNKNOWN]
    sent, failed = (_count(value, glyphs) for value in (summary.requests, summary.failed))
    return _columns(width, sent, failed, glyphs.shown(format_seconds(took_s)), origin, glyphs)


def _columns(width: int, sent: str, failed: str, took: str, origin: str, glyphs: Glyphs | None = None) -> str:
    shown_took = f"{took:>{_TOOK}}" if width >= _WIDE else ""
    return f"{sent:>{_SENT}}{failed:>{_FAILED}}{shown_took}  {_fit(origin, _ORIGIN, glyphs)}"


def _id_width(width: int) -> int:
    took = _TOOK if width >= _WIDE else 0
    return max(width - STATE_WIDTH - 1 - _SENT - _FAILED - took - 2 - _ORIGIN, _SHORTEST_ID)


def _count(value: int | None, glyphs: Glyphs) -> str:
    return glyphs[Glyph.UNKNOWN] if value is None else f"{value:,}"


def _fit(text: str, width: int, glyphs: Glyphs | None = None) -> str:
    if cell_len(text) > width > 0 and glyphs is not None:
        return set_cell_size(text, width - 1) + glyphs[Glyph.ELLIPSIS]
    return set_cell_size(text, max(width, 0))
