"""A field that holds one of a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from kvtop.ui.drawing.glyphs import Glyph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtop.ui.drawing.glyphs import Glyphs


class ChoiceField(Static, can_focus=True):
    """Shows the chosen word between two arrows; left, right, space and a click change it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "previous", show=False),
        Binding("right,space", "step(1)", "next", show=False),
    ]
    DEFAULT_CSS = """
    ChoiceField { width: auto; height: 1; background: $panel; }
    ChoiceField:focus { text-style: reverse; }
    """

    class Changed(Message):
        """Another word was chosen."""

        def __init__(self, value: str) -> None:
            super().__init__()
            self.value = value

    def __init__(self, values: Sequence[str], value: str, glyphs: Glyphs, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        self._values = tuple(values)
        self._glyphs = glyphs
        self._index = self._values.index(value) if value in self._values else 0
        super().__init__(self._content(), id=id, markup=False)

    @property
    def value(self) -> str:
        """The chosen word."""
        return self._values[self._index]

    def action_step(self, step: int) -> None:
        """Choose the next or the previous word."""
        self._index = (self._index + step) % len(self._values)
        self.update(self._content(), layout=False)
        self.post_message(self.Changed(self.value))

    def on_click(self) -> None:
        """Choose the next word."""
        self.action_step(1)

    def _content(self) -> Content:
        width = max(map(len, self._values))
        left, right = self._glyphs[Glyph.LEFT], self._glyphs[Glyph.RIGHT]
        return Content(f"{left} {self.value:<{width}} {right}")
