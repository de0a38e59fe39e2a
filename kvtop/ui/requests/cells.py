"""The text of each cell. Unknown is a dash; foreign text is cleaned, and cut by the cells it takes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rich.cells import cell_len, get_character_cell_size

from kvtop.model.quantity import format_seconds
from kvtop.model.text import clean_text
from kvtop.ui.drawing.glyphs import Glyph
from kvtop.ui.requests.fields import cost_of
from kvtop.ui.requests.log_row import State

if TYPE_CHECKING:
    from kvtop.model.endpoint import Price
    from kvtop.model.failure import Failure
    from kvtop.model.record import RequestRecord
    from kvtop.ui.drawing.glyphs import Glyphs
    from kvtop.ui.requests.columns import ColumnName, PlacedColumn
    from kvtop.ui.requests.log_row import LogRow

_TEXT_LIMIT = 200
_MARKS_PER_CELL = 4
"""Characters without a width that are kept for each cell of a column."""


def cell_text(row: LogRow, placed: PlacedColumn, glyphs: Glyphs, price: Price | None = None) -> str:
    """Return what a cell says, in exactly the column's width."""
    name, width = placed.column.name, placed.width
    if row.record is None:
        return " " * width
    if name == "state":
        text: str | None = _state(row.state, row.record.failure, width, glyphs)
    elif name == "run":
        text = row.run_id or None
    elif name == "cost":
        text = shown_cost(row.record, price, glyphs)
    else:
        text = _TEXTS[name](row.record)
    return fit(glyphs[Glyph.UNKNOWN] if text is None else text, width, glyphs, right=placed.column.is_number)


def title_text(placed: PlacedColumn, glyphs: Glyphs, price: Price | None = None) -> str:
    """Return the title of a column in its width; that of the costs names the currency."""
    title = placed.column.title
    if price is not None and placed.column.name == "cost":
        title = f"{title} {price.currency}"
    return fit(title, placed.width, glyphs, right=placed.column.is_number)


def fit(text: str, width: int, glyphs: Glyphs, *, right: bool = False) -> str:
    """Return `text`, cleaned, in exactly `width` cells: filled up, or cut and ended by an ellipsis."""
    if not (text.isascii() and text.isprintable()):
        text = clean_text(text, _TEXT_LIMIT)
    size = len(text) if text.isascii() else cell_len(text)
    if size > width or len(text) > width * _MARKS_PER_CELL:
        text = _cut(text, width - 1) + glyphs[Glyph.ELLIPSIS] if width > 0 else ""
        size = cell_len(text)
    blank = " " * (width - size)
    return blank + text if right else text + blank


def _cut(text: str, width: int) -> str:
    """Return the longest beginning that takes at most `width` cells."""
    used = 0
    for place, character in enumerate(text[: width * _MARKS_PER_CELL]):
        used += get_character_cell_size(character)
        if used > width:
            return text[:place]
    return text[: width * _MARKS_PER_CELL]


def shown_count(count: int | None) -> str | None:
    """Return a number of tokens in at most seven characters where it can be, None for None."""
    if count is None:
        return None
    if abs(count) < 1_000_000:
        return f"{count:,}"
    return f"{count / 1e6:.2f}M" if abs(count) < 1e9 else f"{count:.1e}"


def shown_seconds(seconds: float | None) -> str | None:
    """Return a duration in at most seven characters, None for None."""
    if seconds is None or not math.isfinite(seconds):
        return None
    if abs(seconds) < 100:
        return format_seconds(seconds)
    if abs(seconds) < 10_000:
        return f"{seconds:.0f} s"
    return f"{seconds / 3600:.1f} h" if abs(seconds) < 3.6e7 else f"{seconds:.0e}"


def shown_speed(tok_s: float | None) -> str | None:
    """Return tokens per second, None for None."""
    if tok_s is None or not math.isfinite(tok_s):
        return None
    if abs(tok_s) < 10:
        return f"{tok_s:.2f}"
    return f"{tok_s:.1f}" if abs(tok_s) < 1000 else f"{tok_s:,.0f}" if abs(tok_s) < 1e6 else f"{tok_s:.0e}"


def shown_time(ts: float) -> str | None:
    """Return a Unix time as the host's clock shows it, None where it cannot be one."""
    try:
        return time.strftime("%H:%M:%S", time.localtime(ts))
    except (OverflowError, ValueError, OSError):
        return None


def shown_cost(record: RequestRecord, price: Price | None, glyphs: Glyphs) -> str | None:
    """Return what a request cost in the price's currency, marked where cached tokens are not known."""
    cost = cost_of(lambda name: getattr(record, name), price)
    if cost is None or price is None:
        return None
    is_bound = record.cached_tokens is None and price.cached_input not in (None, price.input)
    return f"{glyphs[Glyph.ABOUT] if is_bound else ''}{_amount(cost)}"


def _amount(cost: float) -> str:
    if abs(cost) >= 1000:
        return f"{cost:,.0f}"
    return f"{cost:.2f}" if abs(cost) >= 10 else f"{cost:.5f}" if abs(cost) >= 0.001 else f"{cost:.7f}"


def _state(state: State, failure: Failure | None, width: int, glyphs: Glyphs) -> str:
    head = glyphs[state.glyph]
    if failure is None:
        return f"{head} {state.word}{glyphs[Glyph.ELLIPSIS] if state is State.RUNNING else ''}"
    full = f"{head} {state.word} {failure.code}"
    return full if cell_len(full) <= width else f"{head} {failure.code}"


_TEXTS: Mapping[ColumnName, Callable[[RequestRecord], str | None]] = {
    "time": lambda record: shown_time(record.ts),
    "tag": lambda record: record.tag or None,
    "target": lambda record: shown_count(record.target_tokens),
    "prompt": lambda record: shown_count(record.prompt_tokens),
    "cached": lambda record: shown_count(record.cached_tokens),
    "out": lambda record: shown_count(record.completion_tokens),
    "reasoning": lambda record: shown_count(record.reasoning_tokens),
    "connect": lambda record: shown_seconds(record.connect_s),
    "ttft": lambda record: shown_seconds(record.ttft_s),
    "speed": lambda record: shown_speed(record.decode_tok_s),
    "latency": lambda record: shown_seconds(record.latency_s),
    "dialect": lambda record: record.dialect or None,
    "model": lambda record: record.model or None,
}
