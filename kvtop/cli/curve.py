"""Text curves by plotext. Everything that plotext must not see is dropped here."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence

from kvtop.cli.streams import is_unicode

Point = tuple[float, float]

WIDTH = 76
HEIGHT = 15
_LABEL_COLUMNS = 6
"""Room for one label of the horizontal axis and a space."""
_MOST_STEPS = 5
_BOX_TO_ASCII = str.maketrans("┌┐└┘─│┤├┬┴┼", "++++-|||+++")


def draw_curve(title: str, points: Sequence[tuple[float | None, float | None]], *, x_label: str) -> str:
    """Return a text curve of `points`, or an empty string when fewer than two of them are finite.

    Points with a missing or non-finite coordinate are left out. The vertical axis begins at 0.
    """
    finite = _finite(points)
    if len(finite) < 2:
        return ""
    import plotext

    unicode = is_unicode(sys.stdout)
    plotext.clear_figure()
    plotext.limit_size(False, False)  # noqa: FBT003  plotext has no names for them
    plotext.theme("clear")
    plotext.plot_size(WIDTH, HEIGHT)
    xs, ys = zip(*finite, strict=True)
    plotext.plot(xs, ys, marker="braille" if unicode else "*")
    plotext.scatter(xs, ys, marker="●" if unicode else "o")
    plotext.title(title)
    plotext.xlabel(x_label)
    labelled = spaced(xs)
    plotext.xticks(labelled, [_short(x) for x in labelled])
    ticks = nice_ticks(max(ys))
    plotext.yticks(ticks, [f"{tick:,g}" for tick in ticks])
    plotext.ylim(0, max(*ys, *ticks))
    drawn = str(plotext.build())
    plotext.clear_figure()
    lines = [line.rstrip() for line in plotext.uncolorize(drawn).splitlines()]
    text = "\n".join(lines)
    return text if unicode else text.translate(_BOX_TO_ASCII)


def spaced(xs: Iterable[float]) -> list[float]:
    """Return those of `xs` whose labels do not run into each other, the largest first to be kept."""
    ordered = sorted(set(xs))
    span = ordered[-1] - ordered[0]
    kept: list[float] = []
    for x in reversed(ordered):
        if not kept or (kept[-1] - x) / span * WIDTH >= _LABEL_COLUMNS:
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


def _finite(points: Sequence[tuple[float | None, float | None]]) -> list[Point]:
    return [
        (x, y) for x, y in points if x is not None and y is not None and math.isfinite(x) and math.isfinite(y)
    ]


def _short(tokens: float) -> str:
    return f"{tokens / 1024:.3g}k" if tokens >= 1024 else f"{tokens:.0f}"
