"""A widget that draws its own lines and repaints only what has changed of them."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual import events
    from textual.geometry import Size

Painted = tuple[str, str]
"""A text and the name of its style: a component class of the widget without its prefix."""
Line = tuple[Painted, ...]


class PaintedLines(Widget):
    """Subclasses say what their lines are; `repaint` works out which cells of them have to be sent.

    Styles are the component classes `painted--NAME`.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "painted--text",
        "painted--muted",
        "painted--strong",
        "painted--warning",
        "painted--bad",
        "painted--fill-low",
        "painted--fill-mid",
        "painted--fill-high",
        "painted--track",
        "painted--history",
        "painted--mark",
    }
    DEFAULT_CSS = """
    PaintedLines {
        height: auto;
        & > .painted--muted { color: $muted; }
        & > .painted--strong { text-style: bold; }
        & > .painted--warning { color: $warning; }
        & > .painted--bad { color: $error; }
        & > .painted--fill-low { color: $gauge-low; }
        & > .painted--fill-mid { color: $gauge-mid; }
        & > .painted--fill-high { color: $gauge-high; }
        & > .painted--track { color: $gauge-track; }
        & > .painted--history { color: $history; }
        & > .painted--mark { color: $history-mark; }
    }
    """

    _painted: tuple[Line, ...] = ()
    _wanted = 0

    def draw(self, width: int, height: int) -> Sequence[Line]:
        """Return the lines to show, each at most `width` cells wide."""
        raise NotImplementedError

    def wanted_height(self, width: int) -> int:
        """Return how many lines there are to show where height is no matter."""
        raise NotImplementedError

    def repaint(self) -> None:
        """Draw anew and send the cells that differ; ask for another height where that has changed."""
        if not self.is_mounted or not self.size:
            return
        before, self._painted = self._painted, tuple(self.draw(self.size.width, self.size.height))
        regions = list(changed(before, self._painted, self.size.width))
        if regions:
            self.refresh(*regions)
        wanted = self.wanted_height(self.size.width)
        if wanted != self._wanted:
            self._wanted = wanted
            if self.styles.is_auto_height:
                self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's
        """Return the height for `height: auto`."""
        self._wanted = self.wanted_height(width)
        return self._wanted

    def render_line(self, y: int) -> Strip:
        """Return one line as segments, filled up to the width."""
        width = self.size.width
        ground = self.get_component_rich_style("painted--text")  # kept by Textual, unlike `rich_style`
        line = self._painted[y] if y < len(self._painted) else ()
        segments = [
            Segment(text, self.get_component_rich_style(f"painted--{style}")) for text, style in line if text
        ]
        return Strip(segments).adjust_cell_length(width, ground)

    def on_resize(self, event: events.Resize) -> None:
        """Draw for the new size."""
        self._painted = tuple(self.draw(event.size.width, event.size.height))
        self.refresh()


def joined(pieces: Sequence[Painted]) -> Line:
    """Return a line in which neighbours of the same style are one piece."""
    line: list[Painted] = []
    for text, style in pieces:
        if line and line[-1][1] == style:
            line[-1] = (line[-1][0] + text, style)
        elif text:
            line.append((text, style))
    return tuple(line)


def fitted(text: str, width: int, ellipsis: str) -> str:
    """Return `text` in exactly `width` cells, with `ellipsis` where something was cut."""
    if cell_len(text) <= width:
        return text + " " * (width - cell_len(text))
    return set_cell_size(text, width - 1) + ellipsis if width > 0 else ""


def changed(before: Sequence[Line], after: Sequence[Line], width: int) -> Iterator[Region]:
    """Yield one region for each line that differs, from its first to its last changed cell."""
    for y in range(max(len(before), len(after))):
        old = before[y] if y < len(before) else ()
        new = after[y] if y < len(after) else ()
        if old == new:
            continue
        old_cells, new_cells = _cells(old, width), _cells(new, width)
        differing = [x for x in range(width) if old_cells[x] != new_cells[x]]
        if differing:
            yield Region(differing[0], y, differing[-1] - differing[0] + 1, 1)


def _cells(line: Line, width: int) -> list[Painted]:
    """Return what each cell shows; the second half of a wide character repeats it."""
    cells: list[Painted] = []
    for text, style in line:
        if cell_len(text) == len(text):
            cells += zip(text, repeat(style), strict=False)
        else:
            cells += [(character, style) for character in text for _ in range(cell_len(character))]
    return cells + [(" ", "")] * (width - len(cells))
