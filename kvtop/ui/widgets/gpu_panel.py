"""The GPUs of this host: one row each, and a word on the readings where they are not what they should be."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from textual.content import Content

from kvtop.ui.drawing.glyphs import Glyph
from kvtop.ui.widgets.gpu_detail import gpu_detail
from kvtop.ui.widgets.gpu_layout import draw_gpus
from kvtop.ui.widgets.gpu_rows import GpuRows, stale_note
from kvtop.ui.widgets.painted_lines import PaintedLines, fitted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual import events

    from kvtop.ui.drawing.glyphs import Glyphs
    from kvtop.ui.messages import GpuSnapshot
    from kvtop.ui.widgets.gpu_rows import GpuRow
    from kvtop.ui.widgets.painted_lines import Line

_FIRST_WORDS = "Waiting for the first GPU reading."


class GpuPanel(PaintedLines):
    """Shows snapshots; the mouse over a row tells all that is known of its GPU."""

    def __init__(self, glyphs: Glyphs, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id, classes=classes)
        self._glyphs = glyphs
        self._snapshot: GpuSnapshot | None = None
        self._memory = GpuRows()
        self._rows: tuple[GpuRow, ...] = ()
        self._words: tuple[tuple[str, str], ...] = ((_FIRST_WORDS, "muted"),)

    def show(self, snapshot: GpuSnapshot) -> None:
        """Show a snapshot; only what differs from the one before is drawn."""
        self._snapshot = snapshot
        rows, words = self._memory.of(snapshot), tuple(_words(snapshot, self._glyphs))
        if (rows, words) != (self._rows, self._words):
            self._rows, self._words = rows, words
            self.repaint()

    def draw(self, width: int, height: int) -> tuple[Line, ...]:
        """Return the rows, and below them the words if there is room."""
        if not self._rows:
            return tuple(self._wrapped(width))[:height]
        lines = draw_gpus(self._rows, width, height, self._glyphs)
        ellipsis = self._glyphs[Glyph.ELLIPSIS]
        words = tuple(((fitted(text, width, ellipsis), style),) for text, style in self._words)
        return (*lines, *words)[:height]

    def wanted_height(self, width: int) -> int:
        """Return a line for each GPU and each word."""
        if not self._rows:
            return len(list(self._wrapped(width)))
        return len(self._rows) + len(self._words)

    def detail_at(self, x: int, y: int) -> str | None:
        """Return what is known of the GPU drawn at a place, None where there is none."""
        columns = -(-len(self._rows) // max(self.size.height, 1))
        lines = -(-len(self._rows) // max(columns, 1))
        place = x * columns // max(self.size.width, 1) * lines + y
        if self._snapshot is None or not 0 <= y < lines or place >= len(self._rows):
            return None
        uuid = self._rows[place].uuid
        reading = next(gpu for gpu in self._snapshot.readings if gpu.device.uuid == uuid)
        return gpu_detail(reading, self._snapshot, self._memory.last_good(uuid))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Put what is known of the GPU under the mouse into the tooltip."""
        detail = self.detail_at(event.x, event.y)
        tooltip = None if detail is None else Content(detail)
        if tooltip != self.tooltip:
            self.tooltip = tooltip

    def _wrapped(self, width: int) -> Iterator[Line]:
        for text, style in self._words:
            for line in textwrap.wrap(self._glyphs.shown(text), max(width, 1)):
                yield ((line, style),)


def _words(snapshot: GpuSnapshot, glyphs: Glyphs) -> Iterator[tuple[str, str]]:
    """Yield sentences with their styles: how old the readings are, and what is wrong."""
    failures = [one for one in snapshot.status.failures if not one.code.startswith("engine")]
    old = stale_note(snapshot.status)
    if snapshot.readings:
        why = f" {glyphs[Glyph.SEPARATOR]} {failures[0]}" if failures else ""
        if old:
            yield f"GPU readings {old}{why}", "warning"
        for note in snapshot.status.notes:
            yield note.text, "muted"
        return
    if not failures:
        yield _FIRST_WORDS, "muted"
    for failure in failures:
        yield failure.text, "text"
        if failure.hint:
            yield f"{glyphs[Glyph.HINT]} {failure.hint}", "muted"
