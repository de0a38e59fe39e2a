from __future__ import annotations

import io

import pytest

from kvtop.settings.config import load_settings
from kvtop.ui.launch import has_few_colors, prepare_environment, refusal, wants_ascii
from kvtop.ui.terminal_kind import color_system, speaks_utf8
from tests.ui.launching import launch


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_not_refused() -> None:
    assert refusal({"TERM": "xterm"}, Tty(), Tty()) is None


@pytest.mark.parametrize("term", ["dumb", "", "unknown"])
def test_a_terminal_without_cursor_is_refused_with_what_works_there(term: str) -> None:
    failure = refusal({"TERM": term}, Tty(), Tty())
    assert failure is not None
    assert failure.code == "dumb_terminal"
    assert "kvtop status" in failure.hint


def test_redirected_stderr_is_refused_with_a_sentence() -> None:
    failure = refusal({"TERM": "xterm"}, Tty(), io.StringIO())
    assert failure is not None
    assert "standard error" in failure.text
    assert "2>" in failure.hint


@pytest.mark.parametrize("stdin", [None, io.StringIO()])
def test_stdin_that_is_no_terminal_is_refused(stdin: io.StringIO | None) -> None:
    failure = refusal({"TERM": "xterm"}, stdin, Tty())
    assert failure is not None
    assert "standard input" in failure.text


def test_a_closed_stream_is_no_terminal() -> None:
    closed = Tty()
    closed.close()
    assert refusal({"TERM": "xterm"}, Tty(), io.StringIO()) is not None


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "truecolor"),
        ({"TERM": "xterm-256color"}, "256"),
        ({"TERM": "xterm-ghostty"}, "256"),
        ({"TERM": "alacritty"}, "256"),
        ({"TERM": "screen"}, "standard"),
        ({"TERM": "screen-256color"}, "256"),
        ({"TERM": "tmux"}, "standard"),
        ({"TERM": "tmux-256color"}, "256"),
        ({"TERM": "linux"}, "standard"),
        ({"TERM": "vt220"}, "standard"),
        ({"TERM": "xterm-16color"}, "standard"),
    ],
)
def test_colours_are_those_of_the_terminal(environ: dict[str, str], expected: str) -> None:
    assert color_system("auto", environ) == expected


def test_the_flag_beats_the_terminal() -> None:
    assert color_system("256", {"TERM": "linux"}) == "256"
    assert color_system("16", {"COLORTERM": "truecolor"}) == "standard"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"LANG": "de_DE.UTF-8"}, True),
        ({"LANG": "en_US.utf8"}, True),
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, False),
        ({"LC_ALL": "", "LANG": "en_US.ISO-8859-1"}, False),
        ({"LC_CTYPE": "en_US.UTF-8", "LANG": "C"}, True),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, False),  # Python's own doing, PEP 538
        ({"LC_CTYPE": "C.UTF-8"}, True),
        ({}, True),
    ],
)
def test_the_locale_decides_about_unicode(environ: dict[str, str], expected: bool) -> None:
    assert speaks_utf8(environ) is expected


def test_ascii_comes_by_itself_and_the_user_has_the_last_word() -> None:
    assert wants_ascii(load_settings({}), {"LC_ALL": "C"})
    assert not wants_ascii(load_settings({}), {"LANG": "C.UTF-8"})
    assert not wants_ascii(load_settings({"KVTOP_UI_ASCII": "no"}), {"LC_ALL": "C"})
    assert wants_ascii(load_settings({}, {"ui.ascii": True}), {"LANG": "C.UTF-8"})


def test_textual_gets_its_variables_before_it_is_loaded() -> None:
    environ = {"TERM": "linux", "NO_COLOR": "", "TEXTUAL_THEME": "no-such-theme", "TEXTUAL": "devtools"}
    prepare_environment(launch({"ui.max_fps": 7}), environ)
    assert environ["TEXTUAL_FPS"] == "7"
    assert environ["TEXTUAL_ANIMATIONS"] == "none"
    assert environ["TEXTUAL_COLOR_SYSTEM"] == "standard"
    assert environ["TEXTUAL_THEME"] == "textual-dark"
    assert "NO_COLOR" not in environ, "an empty NO_COLOR counts as not set"
    assert "TEXTUAL" not in environ
    assert "TEXTUAL_DISABLE_KITTY_KEY" not in environ
    assert has_few_colors(environ)


def test_flags_become_variables() -> None:
    environ = {"TERM": "xterm-256color"}
    asked = launch()
    prepare_environment(
        type(asked)(asked.settings, asked.open_source, color="none", legacy_keys=True), environ
    )
    assert environ["NO_COLOR"] == "1"
    assert environ["TEXTUAL_DISABLE_KITTY_KEY"] == "1"
    assert has_few_colors(environ)
