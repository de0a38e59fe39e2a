"""The line in which a filter is typed, with what is wrong with it beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from kvtop.ui.requests.filter import EXAMPLES, LONGEST_FILTER

if TYPE_CHECKING:
    from textual.app import ComposeResult


class FilterBar(Horizontal):
    """Hidden until it is asked for; stays while a filter is in force."""

    DEFAULT_CSS = """
    FilterBar {
        height: 1;
        display: none;
        & > #filter-mark { width: 2; color: $muted; }
        & > Input { width: 1fr; border: none; height: 1; padding: 0; background: transparent; }
        & > #filter-complaint { width: auto; max-width: 60%; height: 1; color: $error; padding-left: 1; }
    }
    FilterBar.-open { display: block; layout: horizontal; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "clear", "clear", id="log.clear-filter", show=False)
    ]

    class Changed(Message):
        """Another filter was typed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """The typing is over; the filter stays."""

    def __init__(self) -> None:
        super().__init__()
        self._input = Input(
            placeholder=EXAMPLES,
            compact=True,
            select_on_focus=False,
            max_length=LONGEST_FILTER,
            id="filter-input",
        )
        self._input.cursor_blink = False
        self._complaint = Static("", markup=False, id="filter-complaint")

    @property
    def text(self) -> str:
        """The filter as typed."""
        return self._input.value

    def compose(self) -> ComposeResult:
        """Lay out the line."""
        yield Static("/", markup=False, id="filter-mark")
        yield self._input
        yield self._complaint

    def ask(self) -> None:
        """Show the line and let the user type."""
        self.add_class("-open")
        self._input.focus()

    def set_text(self, text: str) -> None:
        """Show a filter as if it had been typed, and no line where it is empty."""
        self.set_class(bool(text), "-open")
        if text != self._input.value:
            self._input.value = text

    def complain(self, complaint: str) -> None:
        """Say what is wrong with the filter; nothing where nothing is."""
        self._complaint.update(Content(complaint))

    def action_clear(self) -> None:
        """Take the filter away and leave."""
        self.set_text("")
        self.post_message(self.Left())

    def on_input_changed(self, event: Input.Changed) -> None:
        """Pass it on."""
        event.stop()
        self.post_message(self.Changed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Leave the line; an empty one goes."""
        event.stop()
        self.set_class(bool(self.text), "-open")
        self.post_message(self.Left())
