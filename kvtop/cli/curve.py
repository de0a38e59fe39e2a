"""Text curves by plotext. Everything that plotext must not see is dropped here."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

Point = tuple[float, float]

WIDTH = 76
HEIGHT = 15
_BOX_TO_ASCII = str.maketrans("┌┐└┘─│┤├┬┴┼┼⠤", "++++-|||++++.")


def draw_curve(title: str, points: Sequence[tuple[float | None, float | None]], *, x_label: str) -> str:
    """Return a text curve of `points`, or an empty string when fewer than two of them are finite.

    Points with a missing or non-finite coordinate are left out.
    """
    finite = _finite(points)
    if len(finite) < 2:
        return ""
    import plotext

    plotext.clear_figure()
    plotext.limit_size(False, False)  # noqa: FBT003  plotext has no names for them
    plotext.theme("clear")
    plotext.plot_size(WIDTH, HEIGHT)
    xs, ys = zip(*finite, strict=True)
    plotext.plot(xs, ys, marker="braille" if _unicode() else "*")
    plotext.scatter(xs, ys, marker="●" if _unicode() else "o")
    plotext.title(title)
    plotext.xlabel(x_label)
    plotext.xticks(xs, [_short(x) for x in xs])
    plotext.ylim(0, max(ys) * 1.05 or 1)
    drawn = str(plotext.build())
    plotext.clear_figure()
    lines = [line.rstrip() for line in plotext.uncolorize(drawn).splitlines()]
    text = "\n".join(lines)
    return text if _unicode() else text.translate(_BOX_TO_ASCII)


def _finite(points: Sequence[tuple[float | None, float | None]]) -> list[Point]:
    return [
        (x, y) for x, y in points if x is not None and y is not None and math.isfinite(x) and math.isfinite(y)
    ]


def _short(tokens: float) -> str:
    return f"{tokens / 1024:.0f}k" if tokens >= 1024 else f"{tokens:.0f}"


def _unicode() -> bool:
    return "utf" in (sys.stdout.encoding or "").lower()
