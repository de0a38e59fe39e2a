"""What a chart consists of, and its round tick values; how it is drawn is `plot.py`'s part."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtop.model.quantity import GIB, KIB, MIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Place = tuple[float | None, float | None]
"""A point as x and y; None or what is not finite makes a gap."""

_LARGEST = 1e18
CURVES = 6
"""How many curves differ in colour and mark."""
_MARKS = ("●", "○", "■", "□", "▲", "△")
_ASCII_MARKS = ("o", "x", "+", "#", "@", "%")


@dataclass(frozen=True, slots=True)
class Range:
    """The spread of repeats at one x."""

    x: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Points joined by a line; dashed ones carry no marks."""

    label: str
    places: tuple[Place, ...]
    number: int = 0
    """Which of the `CURVES` colours and marks it has."""
    dashed: bool = False
    """A line that was not measured: theory, or what was asked for."""
    ranges: tuple[Range, ...] = ()

    @property
    def role(self) -> str:
        """The name of its colour."""
        return "theory" if self.dashed else f"curve-{self.number % CURVES + 1}"

    def mark(self, *, ascii_only: bool) -> str:
        """Return the character of its points, or of its dashes in a legend."""
        if self.dashed:
            return "- -" if ascii_only else "╌╌╌"
        return (_ASCII_MARKS if ascii_only else _MARKS)[self.number % CURVES]


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves over measured prompt tokens, from 0 on both axes."""

    curves: tuple[Curve, ...]
    unit: str
    origin: str
    """Where the numbers come from, in a word or two."""
    notes: tuple[str, ...] = ()
    """Lines to stand inside where they cover nothing, the most important first."""
    x_end: float | None = None
    """Room to keep on the horizontal axis for points to come."""


def is_known(place: Place) -> bool:
    """Return whether a point can be drawn: a count of tokens and a finite value of a sane size."""
    x, y = place
    return x is not None and y is not None and 0 <= x <= _LARGEST and -_LARGEST <= y <= _LARGEST


def known(places: Iterable[Place]) -> list[tuple[float, float]]:
    """Return those points that can be drawn."""
    return [(x, y) for x, y in places if x is not None and y is not None and is_known((x, y))]


def segments(places: Sequence[Place]) -> list[list[tuple[float, float]]]:
    """Return the points split at the gaps."""
    found: list[list[tuple[float, float]]] = [[]]
    for place in places:
        if is_known(place):
            found[-1] += known([place])
        elif found[-1]:
            found.append([])
    return [segment for segment in found if segment]


def decimated(points: Sequence[tuple[float, float]], columns: int) -> list[tuple[float, float]]:
    """Return the lowest and the highest point of each of `columns` equal spans of x: at most two a column."""
    if len(points) <= 2 * columns or columns < 1:
        return list(points)
    ordered = sorted(points)
    start, width = ordered[0][0], (ordered[-1][0] - ordered[0][0]) / columns
    bins: dict[int, list[tuple[float, float]]] = {}
    for point in ordered:
        bins.setdefault(min(int((point[0] - start) / width), columns - 1) if width else 0, []).append(point)
    return [kept for found in bins.values() for kept in _lowest_and_highest(found)]


def nice_ticks(highest: float, most: int) -> list[float]:
    """Return round values from 0 to `highest` or just above it, in at most `most` steps."""
    if not highest > 0 or most < 1:
        return [0.0, 1.0]
    rough = highest / most
    power = 10.0 ** math.floor(math.log10(rough))
    # The last factor is there for the division's rounding.
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10, 20) if factor * power >= rough)
    return [float(f"{step * n:.6g}") for n in range(math.ceil(highest / step * (1 - 1e-9)) + 1)]


def spaced(xs: Iterable[float], end: float, columns: int, label_columns: int) -> list[float]:
    """Return those of `xs` whose labels do not run into each other, the largest kept first."""
    kept: list[float] = []
    for x in sorted(set(xs), reverse=True):
        if not kept or (kept[-1] - x) / end * columns >= label_columns:
            kept.append(x)
    return kept[::-1]


def short_tokens(tokens: float) -> str:
    """Return a token count for an axis: `128k` for 131,072, `4.01k` for 4,110, `512`."""
    if tokens >= MIB:
        return f"{tokens / MIB:.3g}M"
    return f"{tokens / KIB:.3g}k" if tokens >= KIB else f"{tokens:.0f}"


def byte_unit(highest: float) -> tuple[str, float]:
    """Return the binary unit for an axis up to `highest` bytes, and its bytes."""
    for unit, factor in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if highest >= factor:
            return unit, float(factor)
    return "B", 1.0


def second_unit(highest: float) -> tuple[str, float]:
    """Return the unit for an axis up to `highest` seconds, and its seconds."""
    return ("ms", 0.001) if highest < 1 else ("s", 1.0)


def _lowest_and_highest(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    low = min(points, key=lambda point: point[1])
    high = max(points, key=lambda point: point[1])
    return sorted({low, high})
