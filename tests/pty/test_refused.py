"""Where the app cannot be drawn it says so and points to what works."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.pty.kvtop_on_pty import KvtopOnPty


def discard_stderr() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def stderr_to_stdout_pipe() -> None:
    """Have what is said on stderr come out, but not as a terminal."""
    read_end, write_end = os.pipe()
    os.dup2(write_end, 2)
    os.close(read_end)


def take_stdin_away() -> None:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


@pytest.mark.parametrize("term", ["dumb", "unknown", ""])
def test_terminal_without_cursor(start: Callable[..., KvtopOnPty], term: str) -> None:
    app = start(TERM=term)
    app.end()
    assert app.status == 2
    assert b"kvtop status" in app.written
    assert b"\x1b" not in app.written


@pytest.mark.parametrize("prepare", [discard_stderr, stderr_to_stdout_pipe], ids=["null", "broken pipe"])
def test_redirected_stderr(start: Callable[..., KvtopOnPty], prepare: Callable[[], object]) -> None:
    app = start(prepare=prepare)
    app.end()
    assert app.status == 2
    assert b"\x1b" not in app.written


def test_redirected_stdin(start: Callable[..., KvtopOnPty]) -> None:
    app = start(prepare=take_stdin_away)
    app.end()
    assert app.status == 2
    assert b"kvtop status" in app.written
    assert b"\x1b" not in app.written
