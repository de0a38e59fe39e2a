"""kvtop on a pseudo terminal, with an emulator that says what a person would see."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pyte

from benchmarks.pty_app import PtyApp, Size

DEADLINE_S = 40.0
"""How long anything may take on a machine that does other things too."""

ESC = "\x1b[27u"
"""Esc as a terminal with kitty's keyboard sends it: a bare one before another key would be taken for Alt."""

_ROOT = str(Path(__file__).parents[2])
_UNKNOWN_TO_PYTE = re.compile(rb"\x1b\[[<>=][0-?]*[ -/]*[@-~]|\x1b\[\?\d+\$p|\x1b\][^\x07]*\x07")
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|\][^\x07]*)?\Z")
_ENDED_BADLY = ("Traceback", "Error:", "MarkupError")


class KvtopOnPty(PtyApp):
    """`kvtop …` as a person starts it."""

    def __init__(
        self,
        *arguments: str,
        size: Size = (120, 40),
        environ: dict[str, str] | None = None,
        bytes_per_s: float | None = None,
        prepare: Callable[[], object] | None = None,
    ) -> None:
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self._held = b""
        super().__init__(
            [sys.executable, "-P", "-m", "kvtop", *arguments],
            environment(environ or {}),
            size=size,
            folder=Path(os.environ["HOME"]),
            bytes_per_s=bytes_per_s,
            prepare=prepare,
        )

    @property
    def lines(self) -> list[str]:
        """What is on the screen, line by line."""
        return list(self.screen.display)

    @property
    def shown(self) -> str:
        """What is on the screen."""
        return "\n".join(self.lines)

    def read(self, timeout_s: float) -> bytes:
        """Take what was written and draw it."""
        data = super().read(timeout_s)
        if data:
            self._draw(data)
        return data

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        super().resize(columns, rows)
        self.screen.resize(rows, columns)
        self.screen.reset()

    def until(self, what: str | Callable[[], bool]) -> str:
        """Read until the screen shows some words, or a condition holds; return the screen."""
        holds = (lambda: what in self.shown) if isinstance(what, str) else what
        in_time = self.read_until(holds, DEADLINE_S)
        assert in_time, f"{what!r} did not come; status {self.status}; the screen:\n{self.shown}"
        return self.shown

    def until_without(self, words: str) -> str:
        """Read until some words have left the screen."""
        return self.until(lambda: words not in self.shown)

    def leave(self, words: str) -> None:
        """Press Esc where a dialog shows some words, and wait until they have gone."""
        self.until(words)
        self.press(ESC)
        self.until_without(words)

    def started(self) -> str:
        """Wait for the first full screen."""
        return self.until(lambda: "quit" in self.lines[-1])

    def end(self) -> None:
        """Wait for the end."""
        self.wait(DEADLINE_S)
        assert not [words for words in _ENDED_BADLY if words.encode() in self.written], self.shown

    def quit(self) -> None:
        """Press `q` and wait for a good end."""
        self.press("q")
        self.end()
        assert self.status == 0

    def _draw(self, data: bytes) -> None:
        data = self._held + data
        unfinished = _UNFINISHED.search(data)
        cut = unfinished.start() if unfinished else len(data)
        self._held = data[cut:]
        self._stream.feed(_UNKNOWN_TO_PYTE.sub(b"", data[:cut]))


def environment(changes: dict[str, str]) -> dict[str, str]:
    """Return the environment of the test, on a terminal of 256 colours that shows Unicode."""
    kept = {
        name: value for name, value in os.environ.items() if name not in ("COLORTERM", "LC_ALL", "LC_CTYPE")
    }
    return {**kept, "PYTHONPATH": _ROOT, "TERM": "xterm-256color", "LANG": "C.UTF-8", **changes}
