"""The line of tabs on a small terminal: all panels by number, the one in view marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from kvtop.ui.drawing.glyphs import Glyph

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual import events

    from kvtop.ui.drawing.glyphs import Glyphs

GAP = 2


class PanelTabs(Widget):
    """Names of the panels by number; a click shows one."""

    DEFAULT_CSS = "PanelTabs { height: 1; padding: 0 1; text-wrap: nowrap; color: $muted; }"

    class Clicked(Message):
        """A name was clicked."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    chosen: reactive[int] = reactive(1)
    """Number of the panel in view."""

    def __init__(self, names: Mapping[int, str], glyphs: Glyphs, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._names = names
        self._glyphs = glyphs

    def render(self) -> Content:
        """Draw the names; the chosen one differs by more than its colour."""
        return Content(" " * GAP).join(self._tab(number, name) for number, name in self._names.items())

    def number_at(self, x: int) -> int | None:
        """Return the number of the name drawn at a column of the content, or None between two."""
        for number, name in self._names.items():
            width = self._tab(number, name).cell_length
            if 0 <= x < width:
                return number
            x -= width + GAP
        return None

    def on_click(self, event: events.Click) -> None:
        """Tell which name was clicked."""
        offset = event.get_content_offset(self)
        number = self.number_at(offset.x) if offset else None
        if number is not None:
            self.post_message(self.Clicked(number))

    def _tab(self, number: int, name: str) -> Content:
        is_chosen = number == self.chosen
        mark = self._glyphs[Glyph.CURSOR] if is_chosen else " "
        style = "bold underline $foreground" if is_chosen else ""
        return Content.assemble(mark, (f"{number} {name}", style))
