"""An app around one screen, in kvtop's own themes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.app import App

from kvtop.ui.theme_files import load_themes

if TYPE_CHECKING:
    from textual.pilot import Pilot
    from textual.screen import Screen

UNANSWERED = "unanswered"


class ScreenHost(App[None]):
    """Shows a screen over an empty one and keeps what it returns."""

    def __init__(self, screen: Screen[Any], theme: str = "dark") -> None:
        super().__init__()
        for each in load_themes({}).themes.values():
            self.register_theme(each)
        self.theme = theme
        self._shown = screen
        self.answer: Any = UNANSWERED

    def on_mount(self) -> None:
        self.push_screen(self._shown, self._keep)

    def _keep(self, answer: Any) -> None:
        self.answer = answer


async def settled(pilot: Pilot[None]) -> None:
    """Wait until the workers of the screen have ended and what they told is drawn."""
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
