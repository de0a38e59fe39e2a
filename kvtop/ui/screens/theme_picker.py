"""Choosing a theme: the screen behind shows the one under the cursor at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult


class ThemePicker(ModalScreen[str | None]):
    """Returns the name of the chosen theme, or None; the app then goes back to the one before."""

    CSS_PATH = "../styles/theme_picker.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,t", "leave", "keep the old one", show=False),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
    ]

    class Previewed(Message):
        """A theme is under the cursor."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, themes: Sequence[str], current: str) -> None:
        super().__init__()
        self._themes = tuple(themes)
        self._current = self._shown = current

    def compose(self) -> ComposeResult:
        """Show the names, the cursor on the one in use."""
        choices = OptionList(*(Option(Content(name)) for name in self._themes), id="themes", markup=False)
        if self._current in self._themes:
            choices.highlighted = self._themes.index(self._current)
        yield choices

    def on_mount(self) -> None:
        """Let the arrow keys choose at once."""
        choices = self.query_one(OptionList)
        choices.border_title = Content("Theme")
        choices.border_subtitle = Content("Enter keeps, Esc goes back")
        choices.focus()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show it behind the list, unless the cursor has gone on in the meantime."""
        place = event.option_list.highlighted
        if place is not None and self._themes[place] != self._shown:
            self._shown = self._themes[place]
            self.post_message(self.Previewed(self._shown))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Keep it."""
        self.dismiss(self._themes[event.option_index])

    def action_leave(self) -> None:
        """Go back to the theme before."""
        self.dismiss(None)

    def action_move(self, step: int) -> None:
        """Move the cursor."""
        choices = self.query_one(OptionList)
        if step > 0:
            choices.action_cursor_down()
        else:
            choices.action_cursor_up()
