"""What stands in the curve panel: rows of runs for its inside, tabs and origin for its border."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual.content import Content

from kvtop.ui.drawing.blank import TABS, Blank
from kvtop.ui.drawing.chart import known
from kvtop.ui.drawing.glyphs import Glyph
from kvtop.ui.drawing.picture import NOTE, PLOT_ROLES, Run
from kvtop.ui.drawing.plot import draw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtop.ui.drawing.blank import Tab
    from kvtop.ui.drawing.chart import Chart
    from kvtop.ui.drawing.glyphs import Glyphs
    from kvtop.ui.drawing.picture import Row

TEXT = "text"
ROLES = (TEXT, *PLOT_ROLES)
"""Everything that a widget gives a style."""

X_LABEL = "prompt tokens"
SIMULATED = "simulated"
"""The origin that the analysis names where the simulator was measured."""
_BORDER_COLUMNS = 6
"""What a border takes of a row besides its title: corners, spaces and some of the line."""
_GAP = "  "
_LEGEND_HEIGHT = 7
"""Height from which there is a legend."""
_TWO_LEGEND_ROWS = 12
"""Height from which a legend may take two rows."""
_WIDEST_TEXT = 72


def panel_rows(shown: Chart | Blank, width: int, height: int, glyphs: Glyphs) -> tuple[Row, ...]:
    """Return at most `height` rows: a chart with its legend, or a sentence in the middle."""
    if width < 1 or height < 1:
        return ()
    if isinstance(shown, Blank):
        return blank_rows(shown, width, height, glyphs)
    return chart_rows(shown, width, height, glyphs)


def title_of(title: str, current: Tab, width: int, glyphs: Glyphs) -> Content:
    """Return title and tabs for a border of `width`, each to be clicked; the current one alone if narrow."""
    mark = f"[b]{glyphs[Glyph.LEFT]}{current}{glyphs[Glyph.RIGHT]}[/b]"
    names = [mark if tab == current else f"[@click=tab('{tab}')]{tab}[/]" for tab in TABS]
    between = f" {glyphs[Glyph.SEPARATOR]} "
    head = f"$title {glyphs[Glyph.RULE]} " if title else ""
    whole = Content.from_markup(head + between.join(names), title=title)
    if whole.cell_length + _BORDER_COLUMNS <= width:
        return whole
    head = "$title " if title else ""
    return Content.from_markup(f"{head}[@click=next_tab]{mark}[/]", title=title)


def subtitle_of(origin: str, width: int, glyphs: Glyphs, *, simulated: bool) -> Content:
    """Return where the numbers come from, and the horizontal axis where it fits; SIMULATED always stays."""
    words = [Content.styled("SIMULATED", "bold $text-warning")] if simulated else []
    words += [Content(word) for word in (origin, X_LABEL) if origin and word != SIMULATED]
    between = Content(f" {glyphs[Glyph.SEPARATOR]} ")
    while len(words) > 1 and between.join(words).cell_length + _BORDER_COLUMNS > width:
        words.pop()
    return between.join(words)


def chart_rows(chart: Chart, width: int, height: int, glyphs: Glyphs) -> tuple[Row, ...]:
    """Return legend and chart, or the newest point in words where a chart finds no room."""
    most = (height >= _LEGEND_HEIGHT) + (height >= _TWO_LEGEND_ROWS)
    legend = legend_rows(chart, width, glyphs, most) if most else ()
    notes = tuple(_shown(note, glyphs) for note in chart.notes)
    drawn = draw(replace(chart, notes=notes), width, height - len(legend), ascii_only=glyphs.ascii)
    return (*legend, *drawn) if drawn else blank_rows(_newest(chart, glyphs), width, height, glyphs)


def blank_rows(blank: Blank, width: int, height: int, glyphs: Glyphs) -> tuple[Row, ...]:
    """Return the sentences wrapped and in the middle, cut with an ellipsis where the room ends."""
    room = min(width - 2, _WIDEST_TEXT) if width > 4 else width
    texts = _wrapped(glyphs.shown(blank.text), room)
    hints = _wrapped(glyphs.shown(blank.hint), room) if blank.hint else []
    if hints and len(texts) + len(hints) + 1 <= height:
        texts.append("")
    lines = [(text, TEXT) for text in texts] + [(hint, NOTE) for hint in hints]
    if len(lines) > height:
        lines = lines[:height]
        lines[-1] = (lines[-1][0][: max(room - 1, 0)] + glyphs[Glyph.ELLIPSIS], lines[-1][1])
    above = (height - len(lines)) // 2
    indent = " " * ((width - max(Content(text).cell_length for text, _ in lines)) // 2)
    return (*((),) * above, *((Run(indent + text, role),) for text, role in lines))


def legend_rows(chart: Chart, width: int, glyphs: Glyphs, most: int) -> tuple[Row, ...]:
    """Return the names of the curves in at most `most` rows; an ellipsis stands for those without room."""
    rows: list[list[Run]] = [[]]
    for curve in chart.curves:
        if not known(curve.places):
            continue
        item = [Run(curve.mark(ascii_only=glyphs.ascii), curve.role), Run(f" {curve.label}{_GAP}", TEXT)]
        if _length([*rows[-1], *item]) - len(_GAP) > width:
            if len(rows) == most or not rows[-1]:
                rows[-1].append(Run(glyphs[Glyph.ELLIPSIS], NOTE))
                break
            rows.append([])
        rows[-1] += item
    return tuple(tuple(row) for row in rows)


def _length(row: Sequence[Run]) -> int:
    return sum(len(run.text) for run in row)


def _shown(note: str, glyphs: Glyphs) -> str:
    return glyphs.shown(note).replace("²", "^2") if glyphs.ascii else note


def _wrapped(text: str, width: int) -> list[str]:
    return [line.plain.rstrip() for line in Content(text).wrap(width)]


def _newest(chart: Chart, glyphs: Glyphs) -> Blank:
    """Return the last point in words, for a panel that is too small for a chart."""
    for curve in chart.curves:
        if points := known(curve.places):
            x, y = points[-1]
            about = f"{glyphs[Glyph.SEPARATOR]} {x:,.0f} tokens"
            return Blank(f"{curve.label} {y:,.4g} {chart.unit} {about}")
    return Blank(glyphs[Glyph.UNKNOWN])
