"""Where a chart lies on the screen: limits, ticks and the way from values to dots and cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtop.ui.drawing.chart import known, nice_ticks, short_tokens, spaced

if TYPE_CHECKING:
    from typing import Self

    from kvtop.ui.drawing.chart import Chart, Range

_LABEL_COLUMNS = 7
"""Room for one label of the horizontal axis, with space around it."""
_ROWS_A_TICK = 3
_MOST_STEPS = 6
_UNIT_BESIDE_TICK = 48
"""From this width on the unit stands beside the highest tick, below it under the vertical axis."""
_DASH_DOTS = 3


@dataclass(frozen=True, slots=True)
class PlotFrame:
    """The frame of one chart. Both axes begin at 0, the vertical one lower where values are negative."""

    width: int
    columns: int
    """Width of the area that curves are drawn in."""
    rows: int
    """Height of that area."""
    dots_wide: int
    dots_high: int
    x_end: float
    y_start: float
    y_ticks: tuple[float, ...]
    y_labels: tuple[str, ...]
    """All equally wide."""
    unit_in_corner: bool
    """Whether no tick names the unit, for want of room."""

    @classmethod
    def of(cls, chart: Chart, width: int, height: int, *, ascii_only: bool) -> Self:
        """Return the frame of a chart with at least one point that can be drawn."""
        points = [point for curve in chart.curves for point in known(curve.places)]
        spreads = [spread for curve in chart.curves for spread in curve.ranges]
        rows, in_corner = height - 2, width < _UNIT_BESIDE_TICK
        steps = max(min(rows // _ROWS_A_TICK, _MOST_STEPS), min(rows - 1, 2), 1)
        ticks = nice_ticks(max([y for _, y in points] + [spread.high for spread in spreads]), steps)
        labels = _labels(ticks, "" if in_corner else chart.unit)
        columns = width - len(labels[0]) - 1
        x_end = max([x for x, _ in points] + [chart.x_end or 0.0])
        return cls(
            width=width,
            columns=columns,
            rows=rows,
            dots_wide=columns * (1 if ascii_only else 2),
            dots_high=rows * (1 if ascii_only else 4),
            x_end=x_end if x_end > 0 else 1.0,
            y_start=min([0.0] + [y for _, y in points] + [spread.low for spread in spreads]),
            y_ticks=tuple(ticks),
            y_labels=labels,
            unit_in_corner=in_corner,
        )

    @property
    def y_end(self) -> float:
        """The upper end of the vertical axis."""
        return self.y_ticks[-1]

    @property
    def left(self) -> int:
        """Columns left of the area that curves are drawn in: labels and axis."""
        return self.width - self.columns

    def x_ticks(self, chart: Chart) -> list[float]:
        """Return the measured lengths that get a label."""
        measured = {x for curve in chart.curves if not curve.dashed for x, _ in known(curve.places)}
        ticks = spaced(measured, self.x_end, self.columns, _LABEL_COLUMNS)
        if not self.unit_in_corner:
            return ticks
        return [x for x in ticks if self._label_start(x) > len(chart.unit)]

    def cell_of(self, point: tuple[float, float]) -> tuple[float, float]:
        """Return the point moved into the cell that holds its dot: plotext rounds dots and cells apart."""
        x, y = point
        column = _nearest(x / self.x_end, self.dots_wide) * self.columns // self.dots_wide
        share = (y - self.y_start) / (self.y_end - self.y_start)
        row = _nearest(share, self.dots_high) * self.rows // self.dots_high
        height = (self.y_end - self.y_start) / max(self.rows - 1, 1)
        return column * self.x_end / max(self.columns - 1, 1), self.y_start + row * height

    def stroke(self, spread: Range) -> list[tuple[float, float]]:
        """Return the dots of a vertical stroke from the lowest to the highest repeat."""
        rise = spread.high - spread.low
        steps = max(round(rise / (self.y_end - self.y_start) * self.dots_high), 1)
        return [(spread.x, spread.low + rise * step / steps) for step in range(steps + 1)]

    def dashes(self, points: list[tuple[float, float]]) -> list[tuple[float, float]]:
        """Return the dots of a dashed line from the first to the last point."""
        if len(points) < 2:
            return points
        (x0, y0), (x1, y1) = points[0], points[-1]
        wide = abs(x1 - x0) / self.x_end * self.dots_wide
        high = abs(y1 - y0) / (self.y_end - self.y_start) * self.dots_high
        steps = max(round(max(wide, high)), 1)
        on = [step for step in range(steps + 1) if step // _DASH_DOTS % 2 == 0]
        return [(x0 + (x1 - x0) * step / steps, y0 + (y1 - y0) * step / steps) for step in on]

    def _label_start(self, x: float) -> float:
        return self.left + x / self.x_end * (self.columns - 1) - len(short_tokens(x)) / 2


def _labels(ticks: list[float], unit: str) -> tuple[str, ...]:
    """Return the labels of the vertical axis; the highest names the unit, the others keep its room."""
    digits = max(len(f"{tick:.6f}".rstrip("0").partition(".")[2]) for tick in ticks)
    beside = f" {unit}" if unit else ""
    labels = [f"{tick:,.{digits}f}" + " " * len(beside) for tick in ticks]
    labels[-1] = labels[-1].rstrip() + beside
    wide = max(map(len, labels))
    return tuple(label.rjust(wide) for label in labels)


def _nearest(share: float, dots: int) -> int:
    """Return the dot at a share of the way, as plotext 5.3.2 rounds it."""
    return math.floor(round(0.5 + (dots - 1) * share, 8))
