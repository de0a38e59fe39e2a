"""Sends the terminal only those cells of a frame that it does not show yet, in as few bytes as that takes.

Textual sends whole regions, and the whole screen for each dialog: 15 to 25 KB at 120×40, over a second on a
link of 16 KiB/s. Most of these cells show what they showed before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rich.cells import cell_len
from rich.console import COLOR_SYSTEMS
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate

from kvtop.ui.drawing.pens import NO_PEN, Pen, change, pens_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.color import ColorSystem
    from rich.console import Console, RenderableType
    from textual.strip import Strip

    Known = tuple[str, Pen]
    Cell = Known | None

_NO_STYLE = Style.null()
_FORWARD = "\x1b[C"
_SKIPPED = (_FORWARD, NO_PEN)
_GAP = 5
"""As many unchanged cells are sent again rather than jumped over."""


class ThriftyFrame:
    """What the terminal shows: text and pen of each cell, None where that is not known.

    The second half of a wide character has no text. Hyperlinks are left out.
    """

    def __init__(self) -> None:
        self._lines: list[list[Cell]] = []

    def forget(self) -> None:
        """Take it that the terminal may show anything."""
        self._lines = []

    def thrifty(self, update: RenderableType | None) -> RenderableType | None:
        """Return an update that sends what is new of another one."""
        if isinstance(update, LayoutUpdate | ChopsUpdate):
            return cast("RenderableType", _ThriftyUpdate(self, update))  # as Textual declares its own
        return update

    def send(self, update: LayoutUpdate | ChopsUpdate, colors: ColorSystem) -> str:
        """Return what has to be written, and take it as shown."""
        parts: list[str] = []
        pen = NO_PEN
        for y, line in self._drawn(update, colors):
            before, self._lines[y] = self._lines[y], line
            for start, end in _runs(before, line):
                parts.append(f"\x1b[{y + 1};{start + 1}H")
                for text, wanted in (cell or _SKIPPED for cell in line[start:end]):
                    if wanted != pen and text != _FORWARD:
                        sequence, pen = change(pen, wanted)
                        parts.append(sequence)
                    parts.append(text)
        if pen != NO_PEN:
            parts.append("\x1b[0m")
        return "".join(parts)

    def _drawn(
        self, update: LayoutUpdate | ChopsUpdate, colors: ColorSystem
    ) -> Iterator[tuple[int, list[Cell]]]:
        """Yield the lines that an update draws on, as they are after it."""
        if isinstance(update, LayoutUpdate):
            self._lines += [[] for _ in range(update.region.height - len(self._lines))]
            for y, strips in enumerate(update.strips, update.region.y):
                yield y, [cell for strip in strips for cell in _cells(strip, colors)]
            return
        self._lines += [[] for _ in range(len(update.chops) - len(self._lines))]
        for y, begin, end in update.spans:
            line = list(self._lines[y])
            for (x, strip), next_x in zip(update.chops[y].items(), update.chop_ends[y], strict=False):
                if strip is not None and x < end and next_x > begin:
                    line += [None] * (next_x - len(line))
                    line[x:next_x] = _cells(strip, colors)
            yield y, line


class _ThriftyUpdate(CompositorUpdate):
    def __init__(self, frame: ThriftyFrame, update: LayoutUpdate | ChopsUpdate) -> None:
        self._frame = frame
        self._update = update

    def render_segments(self, console: Console) -> str:
        """Return what has to be written."""
        return self._frame.send(self._update, COLOR_SYSTEMS[console.color_system or "truecolor"])


def _cells(strip: Strip, colors: ColorSystem) -> list[Known]:
    cells: list[Known] = []
    for text, style, _ in strip:
        pen, blank = pens_of(style or _NO_STYLE, colors)
        if cell_len(text) == len(text) and text.isprintable():
            cells += [(character, blank if character == " " else pen) for character in text]
        else:
            cells += _odd_cells(text, pen)
    return cells


def _odd_cells(text: str, pen: Pen) -> list[Known]:
    """Return the cells of a text with wide characters, or with such as have no width of their own."""
    cells: list[Known] = []
    lead = 0
    for character in text:
        width = cell_len(character)
        if width:
            lead = len(cells)
            cells += [(character, pen), *[("", pen)] * (width - 1)]
        elif cells:
            cells[lead] = (cells[lead][0] + character, pen)
    return cells


def _runs(before: Sequence[Cell], after: Sequence[Cell]) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each stretch of cells to send."""
    if before == after:
        return
    known = len(before)
    start = end = -1
    for x, cell in enumerate(after):
        if cell is None or (x < known and before[x] == cell):
            continue
        if start < 0 or x - end > _GAP:
            if start >= 0:
                yield start, end
            start = x if cell[0] or not x else x - 1
        end = x + 1
    if start >= 0:
        yield start, end
