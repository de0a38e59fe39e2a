"""Apps around one widget, in kvtop's own themes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App

from kvtop.ui.theme_files import load_themes

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.message import Message
    from textual.widget import Widget


class Host(App[None]):
    """Shows one widget over the whole screen and keeps the messages that it posts."""

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        for theme in load_themes({}).themes.values():
            self.register_theme(theme)
        self.theme = "dark"
        self._widget = widget
        self.told: list[Message] = []

    def compose(self) -> ComposeResult:
        yield self._widget


def screen_text(app: App[None]) -> str:
    """Return what is on the screen, row by row."""
    width, height = app.size
    rows = app.screen._compositor.render_strips()
    return "\n".join(row.text[:width].rstrip() for row in rows[:height])
