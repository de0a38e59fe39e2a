"""Text curves by plotext. Everything that plotext must not see is dropped here."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kvtop.cli.streams import is_unicode
from kvtop.cli.wrapping import text_width

Point = tuple[float, float]

HEIGHT = 16
"""Most lines of a curve."""
_AROUND = 5
"""Title, frame above and below, labels and name of the horizontal axis."""
_LABEL_COLUMNS = 6
"""Room for one label of the horizontal axis and a space."""
_MOST_STEPS = 5
_BOX_TO_ASCII = str.maketrans("┌┐└┘─│┤├┬┴┼", "++++-|||+++")


def draw_curve(
    title: str,
    points: Sequence[tuple[float | None, float | None]],
    *,
    x_label: str,
    x_names: Mapping[float, str] | None = None,
) -> str:
    """Return a text curve of `points`, or an empty string when fewer than two of them are finite.

    Points with a missing or non-finite coordinate are left out. The vertical axis begins at 0. `x_names`
    holds other words for the labels of some places on the horizontal axis.
    """
    finite = _finite(points)
    if len(finite) < 2:
        return ""
    import plotext

    unicode = is_unicode(sys.stdout)
    frame = Frame.of(finite, text_width(), dots=(2, 4) if unicode else (1, 1))
    xs, ys = zip(*finite, strict=True)
    marked_xs, marked_ys = zip(*(frame.cell_of(point) for point in finite), strict=True)
    plotext.clear_figure()
    plotext.limit_size(False, False)  # noqa: FBT003  plotext has no names for them
    plotext.theme("clear")
    plotext.plot_size(frame.width, frame.rows + _AROUND)
    plotext.plot(xs, ys, marker="braille" if unicode else "*")
    plotext.scatter(marked_xs, marked_ys, marker="●" if unicode else "o")
    plotext.title(title)
    plotext.xlabel(x_label)
    labelled = spaced(xs, frame.columns)
    names = x_names or {}
    plotext.xticks(
        [frame.cell_of((x, 0.0))[0] for x in labelled], [names.get(x) or _short(x) for x in labelled]
    )
    plotext.yticks(frame.ticks, tick_labels(frame.ticks))
    plotext.xlim(frame.x_start, frame.x_end)
    plotext.ylim(0, frame.ticks[-1])
    drawn = str(plotext.build())
    plotext.clear_figure()
    lines = [line.rstrip() for line in plotext.uncolorize(drawn).splitlines()]
    text = "\n".join(lines)
    return text if unicode else text.translate(_BOX_TO_ASCII)


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a curve lies: cells, and the dots that they are made of."""

    width: int
    columns: int
    """Width of the area inside the axes."""
    rows: int
    """Height of that area; its rows part evenly over the ticks."""
    dots: tuple[int, int]
    """Dots of a cell, across and down."""
    x_start: float
    x_end: float
    ticks: list[float]

    @classmethod
    def of(cls, points: Sequence[Point], width: int, *, dots: tuple[int, int]) -> Frame:
        """Return the frame of finite points."""
        xs = [x for x, _ in points]
        ticks = nice_ticks(max(y for _, y in points))
        steps = len(ticks) - 1
        labels = max(map(len, tick_labels(ticks)))
        start, end = min(xs), max(xs)
        return cls(
            width=width,
            columns=width - labels - 2,
            rows=(HEIGHT - _AROUND - 1) // steps * steps + 1,
            dots=dots,
            x_start=start,
            x_end=end if end > start else start + 1.0,
            ticks=ticks,
        )

    def cell_of(self, point: Point) -> Point:
        """Return the point moved into the cell that holds its dot.

        plotext rounds the dots of a line and the cells of marks apart, so that a line would miss its marks.
        """
        (across, down), span = self.dots, self.x_end - self.x_start
        column = _nearest((point[0] - self.x_start) / span, self.columns * across) // across
        row = _nearest(point[1] / self.ticks[-1], self.rows * down) // down
        return self.x_start + column * span / (self.columns - 1), row * self.ticks[-1] / (self.rows - 1)


def spaced(xs: Iterable[float], columns: int) -> list[float]:
    """Return those of `xs` whose labels do not run into each other, the largest first to be kept."""
    ordered = sorted(set(xs))
    span = ordered[-1] - ordered[0]
    kept: list[float] = []
    for x in reversed(ordered):
        if not kept or (kept[-1] - x) / span * columns >= _LABEL_COLUMNS:
            kept.append(x)
    return kept[::-1]


def nice_ticks(highest: float) -> list[float]:
    """Return round values from 0 to just above `highest`, at most seven of them."""
    if highest <= 0:
        return [0.0, 1.0]
    rough = highest / _MOST_STEPS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return [float(f"{step * n:.6g}") for n in range(math.ceil(highest / step) + 1)]


def tick_labels(ticks: Sequence[float]) -> list[str]:
    """Return the labels of the vertical axis, all with as many decimals as the one that needs most."""
    decimals = max(len(f"{tick:.9f}".rstrip("0").partition(".")[2]) for tick in ticks)
    return [f"{tick:,.{decimals}f}" for tick in ticks]


def _nearest(share: float, dots: int) -> int:
    """Return the dot at a share of the way, as plotext 5.3.2 rounds it."""
    return math.floor(round(0.5 + (dots - 1) * share, 8))


def _finite(points: Sequence[tuple[float | None, float | None]]) -> list[Point]:
    return [
        (x, y) for x, y in points if x is not None and y is not None and math.isfinite(x) and math.isfinite(y)
    ]


def _short(tokens: float) -> str:
    return f"{tokens / 1024:.3g}k" if tokens >= 1024 else f"{tokens:.0f}"
