"""The line that is rewritten in place, on a real terminal and on what is none."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import sys
import termios
from collections.abc import Iterator

import pytest

from kvtop.cli.status_line import StatusLine

CLEAR = "\r\x1b[K"


class Terminal:
    """A pseudo terminal that stands in for stderr."""

    def __init__(self) -> None:
        self._ours, self._theirs = pty.openpty()
        self.stream = open(self._theirs, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - closed below
        os.set_blocking(self._ours, False)
        self.resize(80)

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def read(self) -> str:
        try:
            return os.read(self._ours, 65536).decode()
        except BlockingIOError:
            return ""

    def hang_up(self) -> None:
        os.close(self._ours)
        self._ours = -1

    def close(self) -> None:
        self.stream.close()
        for descriptor in (self._ours, self._theirs):
            if descriptor >= 0:
                os.close(descriptor)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    fake = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    yield fake
    fake.close()


def test_it_is_drawn_at_most_once_a_second_and_erased(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    clock = Clock()
    line = StatusLine(clock)
    line.show("8k cold 2/3")
    line.show("too soon")
    assert terminal.read() == f"{CLEAR}8k cold 2/3"
    clock.now += 1.0
    line.show("next")
    assert terminal.read() == f"{CLEAR}next"
    line.erase()
    line.erase()
    assert terminal.read() == CLEAR


@pytest.mark.parametrize(("columns", "seen"), [(20, f"{CLEAR}{'x' * 18}…"), (10, "")])
def test_it_never_runs_over_a_narrow_terminal(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, columns: int, seen: str
) -> None:
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    terminal.resize(columns)
    StatusLine().show("x" * 60)
    assert terminal.read() == seen


def test_a_terminal_that_has_gone_away_is_ignored(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    clock = Clock()
    line = StatusLine(clock)
    line.show("here")
    terminal.hang_up()
    clock.now += 5.0
    line.show("gone")
    line.erase()


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_clear_a_line_gets_none(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, term: str
) -> None:
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    monkeypatch.setenv("TERM", term)
    StatusLine().show("text")
    assert terminal.read() == ""


def test_what_is_no_terminal_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        StatusLine().show("text")
        assert stream is None or stream.getvalue() == ""
