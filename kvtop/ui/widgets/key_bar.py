"""The last line: the keys that matter most, as many as fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from kvtop.ui.actions import shown_key

if TYPE_CHECKING:
    from textual import events

    from kvtop.ui.actions import Action

GAP = 2


class KeyBar(Widget):
    """One line of keys; a click on one does what the key does."""

    DEFAULT_CSS = "KeyBar { height: 1; padding: 0 1; background: $panel; text-wrap: nowrap; }"

    class Pressed(Message):
        """A key was clicked."""

        def __init__(self, action: Action) -> None:
            super().__init__()
            self.action = action

    def __init__(self, actions: tuple[Action, ...], *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._actions = tuple(action for action in actions if action.in_bar and action.keys)

    def render(self) -> Content:
        """Draw as many keys as fit."""
        return Content(" " * GAP).join(map(_key, fit(self._actions, self.content_size.width)))

    def action_at(self, x: int) -> Action | None:
        """Return the action drawn at a column of the content, or None between two."""
        for action in fit(self._actions, self.content_size.width):
            if 0 <= x < _width(action):
                return action
            x -= _width(action) + GAP
        return None

    def on_click(self, event: events.Click) -> None:
        """Tell which key was clicked."""
        offset = event.get_content_offset(self)
        action = self.action_at(offset.x) if offset else None
        if action is not None:
            self.post_message(self.Pressed(action))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Show what the key under the mouse does."""
        offset = event.get_content_offset(self)
        action = self.action_at(offset.x) if offset else None
        tooltip = (action.tooltip or action.help) if action else None
        if tooltip != self.tooltip:
            self.tooltip = tooltip


def fit(actions: tuple[Action, ...], width: int) -> tuple[Action, ...]:
    """Return the actions that fit into `width` cells: the last two always, the others from the first on."""
    last = actions[-2:]
    room = width - sum(_width(action) + GAP for action in last) + GAP
    shown: list[Action] = []
    for action in actions[:-2]:
        room -= _width(action) + GAP
        if room < 0:
            break
        shown.append(action)
    return (*shown, *last)


def _width(action: Action) -> int:
    return len(shown_key(action.keys[0])) + 1 + len(action.label)


def _key(action: Action) -> Content:
    return Content.assemble((shown_key(action.keys[0]), "bold $footer-key-foreground"), " ", action.label)
