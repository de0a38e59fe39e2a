"""The box around a part of the cockpit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Vertical
from textual.content import Content

from kvtop.ui.widgets.empty_state import EmptyState

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.widget import Widget

    from kvtop.ui.drawing.glyphs import Glyphs


class Panel(Vertical):
    """A bordered box with a number, a name, its content, and a sentence while there is none.

    The border is the box's own and its children have none: a child that changes redraws itself alone.
    """

    DEFAULT_CSS = """
    Panel { border: round $border-blurred; border-title-color: $foreground; }
    Panel:focus-within { border: round $border; border-title-style: bold; }
    Panel.-ascii { border: ascii $border-blurred; }
    Panel.-ascii:focus-within { border: ascii $border; }
    Panel.-bare { border: none !important; }
    Panel.-empty > .content { display: none; }
    Panel > EmptyState { display: none; }
    Panel.-empty > EmptyState { display: block; }
    """

    def __init__(self, number: int, name: str, glyphs: Glyphs, *content: Widget, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes="-ascii" if glyphs.ascii else None)
        self.number = number
        self.panel_name = name
        self._content = content
        self._empty = EmptyState(glyphs)
        self.border_title = self._title("")

    def compose(self) -> ComposeResult:
        """Show the content, and the sentence for the time before there is any."""
        for widget in self._content:
            widget.add_class("content")
            yield widget
        yield self._empty

    def tell(self, note: str) -> None:
        """Show a few words beside the name."""
        self.border_title = self._title(note)

    def show_empty(self, text: str, hint: str = "") -> None:
        """Show a sentence and a hint instead of the content."""
        self._empty.show(text, hint)
        self.add_class("-empty")

    def show_content(self) -> None:
        """Show the content again."""
        self.remove_class("-empty")

    def reach(self) -> None:
        """Put the focus on the first widget inside that takes it."""
        focusable = next((widget for widget in self._content if widget.focusable), None)
        if focusable is not None:
            focusable.focus()

    def _title(self, note: str) -> Content:
        return Content(f"{self.number} {self.panel_name}" + (f"  {note}" if note else ""))
