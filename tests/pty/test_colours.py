"""What the environment says of the terminal is kept to."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.pty.byte_stream import colors_in
from tests.pty.kvtop_on_pty import KvtopOnPty

RGB, OF_256 = re.compile(r"[34]8;2;"), re.compile(r"[34]8;5;")


def tour(app: KvtopOnPty) -> bytes:
    """Show all kinds of things, and return what was written."""
    app.started()
    app.until("GiB")
    for key, words in (("?", "Esc closes"), ("s", "Length scan"), ("r", "Runs"), ("t", "Enter keeps")):
        app.press(key)
        app.until(words)
        app.leave(words)
    app.quit()
    return bytes(app.written)


@pytest.mark.parametrize("changes", [{"LANG": "C"}, {"LANG": "POSIX"}, {"LC_ALL": "C"}], ids=str)
def test_locale_without_unicode_gets_ascii(start: Callable[..., KvtopOnPty], changes: dict[str, str]) -> None:
    assert tour(start("--demo", **changes)).isascii()


def test_ascii_flag(start: Callable[..., KvtopOnPty]) -> None:
    assert tour(start("--demo", "--ascii")).isascii()


def test_unicode_locale_gets_unicode(start: Callable[..., KvtopOnPty]) -> None:
    app = start("--demo")
    app.started()
    app.quit()
    assert not app.written.isascii()


def test_no_color(start: Callable[..., KvtopOnPty]) -> None:
    assert colors_in(tour(start("--demo", NO_COLOR="1", COLORTERM="truecolor"))) == []


def test_empty_no_color_is_none(start: Callable[..., KvtopOnPty]) -> None:
    app = start(NO_COLOR="")
    app.started()
    app.quit()
    assert colors_in(bytes(app.written))


@pytest.mark.parametrize("term", ["linux", "screen", "tmux", "vt220"])
def test_sixteen_colours(start: Callable[..., KvtopOnPty], term: str) -> None:
    used = colors_in(tour(start("--demo", TERM=term)))
    assert used
    assert [one for one in used if RGB.search(one) or OF_256.search(one)] == []


@pytest.mark.parametrize("term", ["xterm-256color", "screen-256color", "alacritty", "xterm-ghostty"])
def test_256_colours(start: Callable[..., KvtopOnPty], term: str) -> None:
    app = start(TERM=term)
    app.started()
    app.quit()
    used = colors_in(bytes(app.written))
    assert [one for one in used if OF_256.search(one)]
    assert [one for one in used if RGB.search(one)] == []


def test_true_colours(start: Callable[..., KvtopOnPty]) -> None:
    app = start(COLORTERM="truecolor")
    app.started()
    app.quit()
    assert [one for one in colors_in(bytes(app.written)) if RGB.search(one)]
