"""Curves by plotext: a `Chart` in, rows of runs out. The one place of the app that knows plotext.

plotext 5.3.2 gets finite numbers only. Its colours serve as labels: each curve is drawn in a colour number
of its own, and the numbers come back as the roles that a widget gives a style.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from kvtop.ui.drawing.chart import decimated, known, segments, short_tokens
from kvtop.ui.drawing.picture import AXIS, BAND, DRAWN_ROLES, Picture
from kvtop.ui.drawing.plot_frame import PlotFrame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtop.ui.drawing.chart import Chart, Curve
    from kvtop.ui.drawing.picture import Row

LEAST_WIDTH = 16
LEAST_HEIGHT = 4

_WIDEST_AXIS = 0.6
"""Share of the width that the labels of the vertical axis may take."""
_COLOR = re.compile(r"\x1b\[([\d;]*)m")
_TO_ASCII = str.maketrans("┌┐└┘─│┤├┬┴┼", "++++-|||+++")
_LINES_IN_ASCII = (".", ":", "'", "~", ",", "`")


def is_loaded() -> bool:
    """Return whether `draw` will not have to load plotext, which takes 100 to 200 ms."""
    return _plotext.cache_info().currsize > 0


def load() -> None:
    """Import plotext, which may be done in a thread. Raises ImportError where it is missing."""
    _plotext()


@cache
def _plotext() -> Any:
    import plotext

    return plotext


def draw(chart: Chart, width: int, height: int, *, ascii_only: bool = False) -> tuple[Row, ...]:
    """Return `height` rows of `width` characters, or none where it is too small or nothing can be drawn.

    Not to be called in two threads at once: plotext has one figure.
    """
    if width < LEAST_WIDTH or height < LEAST_HEIGHT or not any(known(curve.places) for curve in chart.curves):
        return ()
    frame = PlotFrame.of(chart, width, height, ascii_only=ascii_only)
    if frame.left > width * _WIDEST_AXIS:
        return ()
    picture = _picture(_built(chart, frame, height, ascii_only=ascii_only))
    if frame.unit_in_corner:
        picture.write(height - 1, 0, chart.unit, AXIS)
    picture.place(chart.notes, frame.left, frame.rows)
    return picture.rows()


def _built(chart: Chart, frame: PlotFrame, height: int, *, ascii_only: bool) -> str:
    plotext = _plotext()
    plotext.clear_figure()
    plotext.limit_size(*(False, False))
    plotext.theme("clear")
    plotext.plot_size(frame.width, height)
    plotext.xaxes(lower=True, upper=False)
    plotext.yaxes(left=True, right=False)
    plotext.xlim(0, frame.x_end)
    plotext.ylim(frame.y_start, frame.y_end)
    xs = frame.x_ticks(chart)
    plotext.xticks([frame.cell_of((x, 0.0))[0] for x in xs], [short_tokens(x) for x in xs])
    plotext.yticks(list(frame.y_ticks), list(frame.y_labels))
    _add_curves(plotext, chart.curves, frame, ascii_only=ascii_only)
    built = str(plotext.build())
    plotext.clear_figure()
    return built.translate(_TO_ASCII) if ascii_only else built


def _add_curves(plotext: Any, curves: Sequence[Curve], frame: PlotFrame, *, ascii_only: bool) -> None:
    """Give plotext what is to be drawn, the lowest layer first: ranges, dashes, lines, marks."""
    dot = "." if ascii_only else "braille"
    spreads = [place for curve in curves for spread in curve.ranges for place in frame.stroke(spread)]
    _scatter(plotext, spreads, ":" if ascii_only else dot, BAND)
    for curve in curves:
        if curve.dashed:
            _scatter(plotext, frame.dashes(known(curve.places)), "-" if ascii_only else dot, curve.role)
    measured = [curve for curve in curves if not curve.dashed]
    for curve in measured:
        _add_lines(
            plotext, curve, frame, _LINES_IN_ASCII[curve.number % len(_LINES_IN_ASCII)] if ascii_only else dot
        )
    for curve in measured:
        marked = [frame.cell_of(point) for point in decimated(known(curve.places), frame.columns)]
        _scatter(plotext, marked, curve.mark(ascii_only=ascii_only), curve.role)


def _add_lines(plotext: Any, curve: Curve, frame: PlotFrame, marker: str) -> None:
    for segment in segments(curve.places):
        if len(segment) > 1:
            xs, ys = zip(*decimated(segment, frame.columns), strict=True)
            plotext.plot(xs, ys, marker=marker, color=_tag(curve.role))


def _scatter(plotext: Any, points: Sequence[tuple[float, float]], marker: str, role: str) -> None:
    if points:
        xs, ys = zip(*points, strict=True)
        plotext.scatter(xs, ys, marker=marker, color=_tag(role))


def _tag(role: str) -> int:
    """Return the colour number that stands for a role."""
    return DRAWN_ROLES.index(role) + 1


def _picture(built: str) -> Picture:
    """Return characters and roles, cell by cell, of what plotext built."""
    picture = Picture([], [])
    for line in built.rstrip("\n").split("\n"):
        cells: list[str] = []
        roles: list[str] = []
        role = AXIS
        for index, part in enumerate(_COLOR.split(line)):
            if index % 2:
                role = _role_of(part)
                continue
            cells += part
            roles += [role] * len(part)
        picture.cells.append(cells)
        picture.roles.append(roles)
    return picture


def _role_of(color: str) -> str:
    number = color.rpartition(";")[2]
    tag = int(number) if color.startswith("38;5;") and number.isdecimal() else 0
    return DRAWN_ROLES[tag - 1] if 1 <= tag <= len(DRAWN_ROLES) else AXIS
