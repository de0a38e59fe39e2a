"""What a panel shows while it has nothing to show: why, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from kvtop.ui.drawing.glyphs import Glyph

if TYPE_CHECKING:
    from kvtop.ui.drawing.glyphs import Glyphs


class EmptyState(Static):
    """A sentence in the middle of a panel, and a hint below it."""

    DEFAULT_CSS = """
    EmptyState {
        width: 1fr; height: 1fr;
        content-align: center middle; text-align: center;
        padding: 0 2;
        color: $muted;
    }
    """

    def __init__(self, glyphs: Glyphs, text: str = "", hint: str = "", *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        self._glyphs = glyphs
        self.shown = (text, hint)
        super().__init__(self._content(), id=id, markup=False)

    def show(self, text: str, hint: str = "") -> None:
        """Say something else."""
        if (text, hint) != self.shown:
            self.shown = (text, hint)
            self.update(self._content())

    def _content(self) -> Content:
        text, hint = self.shown
        if not hint:
            return Content(self._glyphs.shown(text))
        arrow = self._glyphs[Glyph.HINT]
        return Content.assemble(
            self._glyphs.shown(text), "\n", (f"{arrow} {self._glyphs.shown(hint)}", "$foreground")
        )
