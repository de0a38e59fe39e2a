"""The last line of the log: which row of how many, what is new below, whether it follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtop.ui.drawing.glyphs import Glyph
from kvtop.ui.requests.cells import fit
from kvtop.ui.widgets.painted_lines import PaintedLines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvtop.ui.drawing.glyphs import Glyphs
    from kvtop.ui.widgets.painted_lines import Line


@dataclass(frozen=True, slots=True)
class LogPosition:
    """What the line tells."""

    place: int = 0
    """Place of the selected row, from 1; 0 without rows."""
    shown: int = 0
    """Rows that match the filter."""
    total: int = 0
    unseen: int = 0
    """New rows below the window."""
    follows: bool = True
    is_filtered: bool = False
    is_reading: bool = False
    is_searching: bool = False
    complaint: str = ""
    """Why the log cannot be read."""


class LogStatus(PaintedLines):
    """Draws the cells that differ: a new row below costs the digits of two counts."""

    DEFAULT_CSS = "LogStatus { height: 1; }"

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self._glyphs = glyphs
        self.position = LogPosition()

    def show(self, position: LogPosition) -> None:
        """Tell another position."""
        if position != self.position:
            self.position = position
            self.repaint()

    def draw(self, width: int, height: int) -> list[Line]:  # noqa: ARG002 - the base class's
        """Return the line."""
        if self.position.complaint:
            return [((fit(self.position.complaint, width, self._glyphs), "warning"),)]
        separator = f" {self._glyphs[Glyph.SEPARATOR]} "
        line: list[tuple[str, str]] = []
        used = 2
        for text, style in self._parts():
            piece = (separator if line else "") + self._glyphs.shown(text)
            if used + len(piece) > width:
                break
            used += len(piece)
            line.append((piece, style))
        return [(("  ", "muted"), *line)]

    def wanted_height(self, width: int) -> int:  # noqa: ARG002 - the base class's
        """Return one line."""
        return 1

    def _parts(self) -> Iterator[tuple[str, str]]:
        """Yield what there is to tell, the most important first."""
        told = self.position
        down = self._glyphs[Glyph.FOLLOWING]
        if told.unseen:
            yield f"{down} {told.unseen:,} new below, End", "strong"
        elif told.follows:
            yield f"{down} following", "muted"
        of_all = f" of {told.total:,}" if told.is_filtered else ""
        if told.shown:
            yield f"{told.place:,}/{told.shown:,}{of_all}", "muted"
        else:
            yield f"no rows{of_all}", "muted"
        if told.is_reading:
            yield "reading older rows…", "muted"
        if told.is_searching:
            yield "searching…", "muted"
