"""Which columns fit into a width, and how wide each is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

ColumnName = Literal[
    "time",
    "tag",
    "target",
    "prompt",
    "cached",
    "out",
    "reasoning",
    "connect",
    "ttft",
    "speed",
    "latency",
    "cost",
    "state",
    "dialect",
    "model",
    "run",
]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the log."""

    name: ColumnName
    title: str
    width: int
    """Cells it needs."""
    rank: int
    """The lowest stay longest when there is little room."""
    is_number: bool = True
    """Whether it is right-aligned."""
    most: int = 0
    """Cells it can make use of, where that is more."""


COLUMNS = (
    Column("time", "time", 8, 2, is_number=False),
    Column("tag", "tag", 9, 4, is_number=False),
    Column("target", "target", 7, 10),
    Column("prompt", "prompt", 7, 1),
    Column("cached", "cached", 7, 6),
    Column("out", "out", 6, 7),
    Column("reasoning", "reason.", 7, 11),
    Column("connect", "connect", 7, 12),
    Column("ttft", "TTFT", 7, 3),
    Column("speed", "tok/s", 6, 8),
    Column("latency", "latency", 7, 5),
    Column("cost", "cost", 10, 9),
    Column("state", "state", 10, 0, is_number=False, most=24),
    Column("dialect", "dialect", 18, 13, is_number=False),
    Column("model", "model", 16, 15, is_number=False, most=22),
    Column("run", "run", 20, 14, is_number=False, most=36),
)
_EXTRA_RANK = 13
"""Columns from here on come only where the state has room for the code of a failure."""
_STATE_ROOM = 10
_PRICED_RANK = 6
"""What a request costs stays on a narrow screen where it is known."""


@dataclass(frozen=True, slots=True)
class PlacedColumn:
    """A column with the width it is drawn in."""

    column: Column
    width: int


@lru_cache(16)
def place_columns(width: int, *, priced: bool = False, gap: int = 1) -> tuple[PlacedColumn, ...]:
    """Return the columns for `width` cells, `gap` cells apart, in their order on screen.

    As many as fit by rank, at least one; what is left over goes to those that can use it.
    """
    ranked = sorted(COLUMNS, key=lambda column: _rank(column, priced=priced))
    chosen: list[Column] = []
    used = -gap
    for column in ranked:
        room = width - (_STATE_ROOM if column.rank >= _EXTRA_RANK else 0)
        if chosen and used + gap + column.width > room:
            break
        chosen.append(column)
        used += gap + column.width
    return _widened([column for column in COLUMNS if column in chosen], width - used)


def _rank(column: Column, *, priced: bool) -> float:
    return _PRICED_RANK - 0.5 if priced and column.name == "cost" else column.rank


def _widened(columns: Sequence[Column], spare: int) -> tuple[PlacedColumn, ...]:
    """Give the state what it can use first, then the others from the last one on."""
    widths = {}
    for column in sorted(columns, key=lambda column: (column.name != "state", -COLUMNS.index(column))):
        extra = min(max(spare, 0), max(column.most - column.width, 0))
        spare -= extra
        widths[column.name] = column.width + extra
    return tuple(PlacedColumn(column, widths[column.name]) for column in columns)
