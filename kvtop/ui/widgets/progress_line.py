"""One line that says how far a run is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from kvtop.model.quantity import format_seconds
from kvtop.ui.drawing.bars import gauge
from kvtop.ui.drawing.glyphs import Glyph
from kvtop.ui.run_state import STATE_STYLES, state_text
from kvtop.ui.widgets.painted_lines import Line, Painted, PaintedLines, fitted, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtop.ui.drawing.glyphs import Glyphs
    from kvtop.ui.messages import ProgressTold

_BAR = 20
_SHORT_BAR = 8
_WIDE = 100
_GAP = 2
_MARGIN = 1
_PARTS = {"fill": "fill-low", "track": "track", "text": "text", "text-on-fill": "text"}


class _Part(NamedTuple):
    """One fact on the line."""

    text: str
    style: str
    rank: int
    """0 is shown at any width; a higher one only when all lower ones are."""


class ProgressLine(PaintedLines):
    """State, bar, requests done, time left, tokens spent, and what is going on; nothing moves by itself."""

    DEFAULT_CSS = """
    ProgressLine { height: 1; display: none; background: $panel; }
    """

    def __init__(self, glyphs: Glyphs, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._glyphs = glyphs
        self._told: ProgressTold | None = None

    def show(self, told: ProgressTold | None) -> None:
        """Show how far a run is; None hides the line."""
        self._told = told
        self.display = told is not None
        self.repaint()

    def wanted_height(self, width: int) -> int:  # noqa: ARG002 - one line at any width
        """Return one line."""
        return 1

    def draw(self, width: int, height: int) -> Sequence[Line]:
        """Return the line: what matters most first, and of it as much as fits."""
        if self._told is None or height < 1:
            return ()
        parts = self._parts(self._told, width)
        left, shown = width - 2 * _MARGIN, set[int]()
        for place in sorted(range(len(parts)), key=lambda n: parts[n].rank):
            left -= cell_len(parts[place].text) + (_GAP if shown else 0)
            if left < 0 and shown:
                break
            shown.add(place)
        pieces: list[Painted] = []
        for place in sorted(shown):
            pieces += self._drawn(parts[place], gap=" " * _GAP if pieces else "")
        if len(shown) == len(parts):
            pieces += self._rest(self._told.text, left)
        return (joined([(" " * _MARGIN, "text"), *pieces]),)

    def _parts(self, told: ProgressTold, width: int) -> list[_Part]:
        """Return the parts in their order on the line; a bar is as many spaces as it is wide."""
        running = told.state == "running"
        parts = [_Part(state_text(told.state, self._glyphs), STATE_STYLES.get(told.state, "text"), 0)]
        if running and told.total:
            parts.append(_Part(" " * (_BAR if width >= _WIDE else _SHORT_BAR), "bar", 2))
        if told.total is not None:
            parts.append(_Part(f"{told.done:,}/{told.total:,}", "text", 1))
        if running and told.left_s is not None:
            left = f"{self._glyphs[Glyph.ABOUT]} {format_seconds(told.left_s)} left"
            parts.append(_Part(left, "text", 3))
        if told.spent_tokens is not None:
            parts.append(_Part(f"{told.spent_tokens:,} tokens", "muted", 4))
        if told.cell:
            parts.append(_Part(told.cell, "text", 5))
        return parts

    def _drawn(self, part: _Part, gap: str) -> list[Painted]:
        if part.style == "bar" and self._told is not None:
            return self._bar(self._told, gap, part.text)
        return [(gap + part.text, part.style)]

    def _bar(self, told: ProgressTold, gap: str, room: str) -> list[Painted]:
        fraction = told.done / told.total if told.total else None
        return [(gap, "text"), *((p.text, _PARTS[p.part]) for p in gauge(fraction, len(room), self._glyphs))]

    def _rest(self, text: str, left: int) -> list[Painted]:
        """Return the runner's last word, cut to what is left of the line."""
        if not text or left < _GAP + 10:
            return []
        shown = fitted(self._glyphs.shown(text), left - _GAP, self._glyphs[Glyph.ELLIPSIS])
        return [(" " * _GAP + shown, "muted")]
