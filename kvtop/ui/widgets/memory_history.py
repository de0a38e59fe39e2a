"""Five minutes of GPU memory in braille, with a row that marks when requests ran."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from kvtop.ui.drawing.braille import DOTS_WIDE, draw_history, draw_marks, peaks
from kvtop.ui.widgets.painted_lines import PaintedLines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kvtop.ui.drawing.glyphs import Glyphs
    from kvtop.ui.widgets.painted_lines import Line

    Points = tuple[float | None, ...]
    Span = tuple[float, float | None]
    """Begin and end of a request in Unix seconds; no end while it runs."""

WINDOW_S = 300
SCALE_PCT = (5, 10, 25, 50, 100)
"""Heights of the picture in percent of the memory: the smallest that holds all values is taken."""

NO_NAMES: Mapping[str, str] = MappingProxyType({})

_LABEL = 9
_LEAST_WIDTH = _LABEL + 8


class MemoryHistory(PaintedLines):
    """One band a GPU where there is a line for each, else the mean of all.

    A band of one line goes from 0 to 100 %; a taller one shows the part of the scale that is used.
    """

    DEFAULT_CSS = "MemoryHistory { height: 1fr; min-height: 2; }"

    def __init__(self, glyphs: Glyphs, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id, classes=classes)
        self._glyphs = glyphs
        self._history: Mapping[str, Points] = {}
        self._spans: tuple[Span, ...] = ()
        self._newest_s = 0
        self._names: Mapping[str, str] = NO_NAMES

    def show(
        self,
        history: Mapping[str, Points],
        request_spans: Iterable[Span] = (),
        newest_s: int | None = None,
        names: Mapping[str, str] = NO_NAMES,
    ) -> None:
        """Show points, one a second, and spans of requests.

        The last point is of the Unix second `newest_s`, by default of the last whole one. `names` are
        the GPUs' names by UUID, as short as an index.
        """
        second = int(time.time()) - 1 if newest_s is None else newest_s
        spans = tuple(span for span in request_spans if (span[1] or math.inf) > second - WINDOW_S)
        if (history, spans, second, names) != (self._history, self._spans, self._newest_s, self._names):
            self._history, self._spans, self._newest_s, self._names = history, spans, second, names
            self.repaint()

    def wanted_height(self, width: int) -> int:  # noqa: ARG002 - the same at any width
        """Return a line for each GPU and one for marks, at least three."""
        return max(len(self._history), 2) + 1

    def draw(self, width: int, height: int) -> tuple[Line, ...]:
        """Return the bands and, below them, the marks."""
        if width < _LEAST_WIDTH or height < 2:
            return ()
        bands = self._bands(height - 1)
        band_height = (height - 1) // max(len(bands), 1)
        lines = [line for name, points in bands for line in self._band(name, points, width, band_height)]
        return (*lines, self._marks(width))

    def _bands(self, lines: int) -> list[tuple[str, Points]]:
        named = [(self._names.get(uuid, ""), points) for uuid, points in self._history.items()]
        if len(named) == 1:
            return [("", named[0][1])]
        return named if len(named) <= lines else [("mean", _mean(list(self._history.values())))]

    def _band(self, name: str, points: Points, width: int, height: int) -> list[Line]:
        columns = (width - _LABEL) * DOTS_WIDE
        values = peaks(points, columns, WINDOW_S, self._newest_s + 1)
        low, high = (0.0, 1.0) if height == 1 else scale(values)
        rows = draw_history(values, width - _LABEL, height, low, high, ascii_only=self._glyphs.ascii)
        labels = _labels(name, low, high, height)
        return [
            ((f"{label:>{_LABEL - 1}} ", "muted"), (row, "history"))
            for label, row in zip(labels, rows, strict=True)
        ]

    def _marks(self, width: int) -> Line:
        columns = (width - _LABEL) * DOTS_WIDE
        flags = _running(self._spans, self._newest_s)
        marks = peaks(flags, columns, WINDOW_S, self._newest_s + 1)
        row = draw_marks(marks, width - _LABEL, ascii_only=self._glyphs.ascii)
        return (f"{'requests':>{_LABEL - 1}} ", "muted"), (row, "mark")


def scale(values: Sequence[float | None]) -> tuple[float, float]:
    """Return the floor and the ceiling, as fractions, of the smallest scale that holds all values.

    Floors lie at halves of the scale's height, so that the picture rarely changes its scale.
    """
    known = [min(value * 100, 100.0) for value in values if value is not None]
    if not known:
        return 0.0, 1.0
    for height in SCALE_PCT:
        for step in (height, height / 2):
            low = min(math.floor(min(known) / step) * step, 100.0 - height)
            if max(known) <= low + height:
                return low / 100, (low + height) / 100
    return 0.0, 1.0


def _labels(name: str, low: float, high: float, height: int) -> list[str]:
    if height == 1:
        return [name or "100%"]
    head = f"{name} {high * 100:.0f}%".strip()
    return [head, *([""] * (height - 2)), f"{low * 100:.0f}%"]


def _mean(series: Sequence[Points]) -> Points:
    length = max(len(points) for points in series)
    columns = ([points[-back] for points in series if len(points) >= back] for back in range(length, 0, -1))
    return tuple(_mean_of([value for value in column if value is not None]) for column in columns)


def _mean_of(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _running(spans: Iterable[Span], newest_s: int) -> list[float | None]:
    """Return for each second of the window, the newest last, 1 when a request ran in it."""
    flags: list[float | None] = [None] * WINDOW_S
    oldest_s = newest_s - WINDOW_S + 1
    for begin, end in spans:
        last_s = newest_s if end is None else min(math.floor(end), newest_s)
        for second in range(max(math.floor(begin), oldest_s), last_s + 1):
            flags[second - oldest_s] = 1.0
    return flags
