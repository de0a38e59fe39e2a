"""A line at the end of a terminal's output that is rewritten in place."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from kvtop.cli.streams import columns, is_tty, say_in_place
from kvtop.model.text import ELLIPSIS

EVERY_S = 1.0
"""Shortest time between two drawings, in seconds."""
_NARROWEST = 16
_TO_START_AND_CLEAR = "\r\x1b[K"
_CANNOT_CLEAR = ("", "dumb")


class StatusLine:
    """Draws on stderr where that is a terminal that can clear a line; elsewhere it does nothing."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._is_shown = False
        self._drawn_at = float("-inf")

    def show(self, text: str) -> None:
        """Draw `text`, cut to the terminal's width, unless the last drawing is too recent."""
        now = self._monotonic()
        if now - self._drawn_at < EVERY_S or not _can_draw():
            return
        room = columns(sys.stderr) - 1
        self._drawn_at = now
        if room < _NARROWEST:
            self.erase()
            return
        line = text if len(text) <= room else text[: room - 1] + ELLIPSIS
        self._is_shown = True
        say_in_place(_TO_START_AND_CLEAR + line)

    def erase(self) -> None:
        """Take the line away, so that something else can be printed in its place."""
        if self._is_shown:
            self._is_shown = False
            say_in_place(_TO_START_AND_CLEAR)


def _can_draw() -> bool:
    return is_tty(sys.stderr) and os.environ.get("TERM", "") not in _CANNOT_CLEAR
