"""Holds drawing back while the terminal has not taken what was drawn before."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.app import App

    from kvtop.ui.pace import Pace


class DrawingGate:
    """Keeps at most one frame on its way. Used in the app's thread; a key is echoed after that frame."""

    def __init__(self, app: App[Any], pace: Pace) -> None:
        self._app = app
        self._pace = pace
        self._held = ExitStack()
        self._is_held = False
        self._missed = False

    def after_display(self) -> None:
        """Close the gate until the terminal has taken the frame; called after each attempt to draw."""
        if self._is_held:
            self._missed = True
        elif self._pace.when_drained(self._drained):
            self._is_held = True
            self._held.enter_context(self._app.batch_update())

    def _drained(self) -> None:
        """Runs in the writer's thread."""
        loop = self._app._loop  # noqa: SLF001 - Textual has no public name for it
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._open)

    def _open(self) -> None:
        self._is_held = False
        self._held.close()
        missed, self._missed = self._missed, False
        screens = self._app.screen_stack
        if screens and missed:
            screens[-1].refresh()
        elif screens:
            screens[-1].check_idle()
