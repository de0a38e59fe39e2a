from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.pty.byte_stream import left_on
from tests.pty.kvtop_on_pty import KvtopOnPty

SIZES = [(80, 24), (20, 5), (200, 60), (1, 1), (120, 40), (3, 60), (200, 2), (79, 23), (40, 10)]


def storm(app: KvtopOnPty) -> None:
    """Give the terminal many sizes while the app draws, 120x40 last."""
    for _ in range(4):
        for columns, rows in SIZES:
            app.resize(columns, rows)
            app.read(0.02)
    app.resize(120, 40)


DIALOGS = {
    "": "1 GPUs",
    "?": "Esc closes",
    "s": "Length scan",
    "t": "Enter keeps",
    "r": "Runs",
    "o": "Processes",
    ":": "Search for",
}


@pytest.mark.parametrize("key", DIALOGS, ids=lambda key: key or "cockpit")
def test_resize_storm(start: Callable[..., KvtopOnPty], key: str) -> None:
    app = start("--demo")
    app.started()
    if key:
        before = app.shown
        app.press(key)
        app.until(lambda: app.shown != before and DIALOGS[key] in app.shown)
    storm(app)
    app.until(DIALOGS[key])
    if key:
        app.leave(DIALOGS[key])
    app.until(lambda: "quit" in app.lines[-1] and "2 Requests" in app.shown and "3 Curves" in app.shown)
    app.quit()
    assert left_on(bytes(app.written)) == []


@pytest.mark.parametrize("size", [(20, 5), (1, 1), (39, 10), (40, 9)], ids=str)
def test_start_on_a_terminal_too_small(start: Callable[..., KvtopOnPty], size: tuple[int, int]) -> None:
    app = start(size=size)
    app.until(lambda: "kvtop"[: size[0]] in app.shown)
    app.resize(80, 24)
    app.until(lambda: "quit" in app.lines[-1])
    app.resize(*size)
    app.quit()
