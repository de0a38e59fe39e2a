from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kvtop.model.failure import Failure
from kvtop.ui import theme_files
from kvtop.ui.theme_files import ThemeSet, load_themes
from kvtop.ui.theme_reader import ROLES, _variable_names, read_theme

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MINE = """\
name = "mine"
dark = false
[colors]
primary = "#123456"
error = "crimson"
[variables]
gauge-high = "rgb(200, 0, 0)"
text-muted = "auto 50%"
link-style = "not bold underline"
"""


@pytest.fixture
def environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}


@pytest.fixture
def folder(home: Path) -> Path:
    found = home / ".config" / "kvtop" / "themes"
    found.mkdir(parents=True)
    return found


def complaints(folder: Path, content: str) -> Sequence[Failure]:
    path = folder / "mine.toml"
    path.write_text(content)
    theme, found = read_theme(path)
    assert (theme is None) == bool(found)
    return found


def test_a_theme_of_the_user(folder: Path, environ: dict[str, str]) -> None:
    (folder / "any-name.toml").write_text(MINE)
    found = load_themes(environ)
    assert found.failures == ()
    assert found.own == {"mine"}
    theme, failure = found.choose("mine")
    assert failure is None
    assert (theme.name, theme.dark, theme.ansi) == ("mine", False, False)
    assert (theme.primary, theme.error, theme.background) == ("#123456", "crimson", None)
    assert theme.variables["gauge-high"] == "rgb(200, 0, 0)"


def test_roles_that_are_left_out_follow_the_colours(folder: Path) -> None:
    assert complaints(folder, MINE) == ()
    theme, _ = read_theme(folder / "mine.toml")
    assert theme is not None
    assert ROLES.keys() <= theme.variables.keys()
    assert theme.variables["history"] == "#123456"


def test_without_a_folder_there_are_the_shipped_ones(environ: dict[str, str]) -> None:
    found = load_themes(environ)
    assert (found.failures, found.own) == ((), frozenset())
    assert {"dark", "light", "ansi"} <= found.themes.keys()


def test_a_theme_of_the_user_replaces_the_shipped_one(folder: Path, environ: dict[str, str]) -> None:
    (folder / "dark.toml").write_text(MINE.replace("mine", "dark"))
    assert load_themes(environ).themes["dark"].primary == "#123456"


def test_a_broken_one_does_not(folder: Path, environ: dict[str, str]) -> None:
    (folder / "dark.toml").write_text(MINE.replace("mine", "dark").replace("crimson", "crimsn"))
    found = load_themes(environ)
    assert found.themes["dark"].primary == "#5fafff"
    assert found.own == frozenset()
    [failure] = found.failures
    assert failure.text == f"{folder / 'dark.toml'}:5: colors.error is 'crimsn', which is no colour."
    assert failure.hint == "Did you mean crimson?"


def test_all_failures_of_all_files_are_collected(folder: Path, environ: dict[str, str]) -> None:
    (folder / "a.toml").write_text("nam = 1\n[colors]\nprimary = 'x'\nsurfce = '#111'\n")
    (folder / "b.toml").write_text("[colors\n")
    (folder / "c.toml").write_bytes(b"\xff\xfe")
    (folder / "d.toml").mkdir()
    (folder / "e.toml").symlink_to("gone")
    (folder / "f.toml").write_text(MINE)
    (folder / "notes.txt").write_text("no theme")
    found = load_themes(environ)
    assert found.own == {"mine"}
    assert [failure.code for failure in found.failures] == [
        *("unknown_key", "bad_value", "unknown_key", "bad_value"),
        *("bad_toml", "bad_toml", "bad_toml", "bad_toml"),
    ]
    assert all(failure.text.startswith(str(folder)) for failure in found.failures)


def test_two_of_one_name(folder: Path, environ: dict[str, str]) -> None:
    (folder / "a.toml").write_text(MINE)
    (folder / "b.toml").write_text(MINE.replace("#123456", "#654321"))
    found = load_themes(environ)
    assert found.themes["mine"].primary == "#123456"
    assert found.failures[0].text == f"{folder / 'b.toml'}: the name mine is taken by a.toml beside it."


def test_a_folder_that_cannot_be_read(folder: Path, environ: dict[str, str]) -> None:
    folder.rmdir()
    folder.write_text("a file")
    found = load_themes(environ)
    assert [failure.code for failure in found.failures] == ["bad_themes_dir"]
    assert "dark" in found.themes


def test_an_installation_without_its_themes(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theme_files, "shipped_dir", lambda kind: tmp_path / kind)
    found = load_themes(environ)
    assert [failure.code for failure in found.failures] == ["no_themes"]
    theme, failure = found.choose(None)
    assert (theme.name, failure) == ("dark", None)
    assert ROLES.keys() <= theme.variables.keys()


@pytest.mark.parametrize(
    ("content", "line", "words", "hint"),
    [
        ("[colors]\nprimary = '#123'\n", None, "name is missing", 'name = "mine"'),
        ("name = '../x'\n[colors]\nprimary = '#123'\n", 1, "letters, digits", ""),
        ('name = "\\u001b[31m"\n[colors]\nprimary = "#123"\n', 1, "control character", ""),
        ("name = 'x'\n", None, "colors.primary is missing", ""),
        ("name = 'x'\ncolors = 3\n", 2, "colors must be a table", ""),
        ("name = 'x'\ndark = 'yes'\n[colors]\nprimary = '#123'\n", 2, "true or false", ""),
        ("name = 'x'\n[color]\nprimary = '#123'\n", 2, "unknown key 'color'", "Did you mean colors?"),
        ("name = 'x'\n[colors]\nprimry = '#123'\n", 3, "unknown key 'primry'", "Did you mean primary?"),
        ("name = 'x'\n[colors]\nprimary = '#12'\n", 3, "no colour", "#rrggbb"),
        ("name = 'x'\n[colors]\nprimary = 17\n", 3, "text in quotes", ""),
        ("name = 'x'\n[colors]\nprimary = ''\n", 3, "is empty", ""),
        ("name = 'x'\n[colors]\nprimary = '#12345678'\n", 3, "transparent", ""),
        ("name = 'x'\n[colors]\nprimary = 'ansi_red'\n", 3, "need ansi = true", ""),
        ("name = 'x'\nansi = true\n[colors]\nprimary = '#123'\n", 4, "ansi_… colours only", ""),
        ("name = 'x'\nansi = true\n[colors]\nprimary = 'ansi_gren'\n", 4, "no colour", "mean ansi_green?"),
        ("name = 'x'\n[colors]\nprimary = '#123'\n[variables]\ncurv-1 = 'red'\n", 5, "curv-1", "curve-1?"),
        ("name = 'x'\n[colors]\nprimary = '#123'\n[variables]\ncurve-1 = 'auto'\n", 5, "no colour", ""),
        ("name = 'x'\n[colors]\nprimary = '#123'\n[variables]\nborder = 'red; }'\n", 5, "no colour", ""),
        ("name = 'x'\n[colors]\nprimary = '#123'\n[variables]\nlink-style = 'blod'\n", 5, "bold", ""),
        ("name = 'x'\n[colors]\nprimary = '#123'\n[variables]\nsurface = 'red'\n", 5, "unknown key", ""),
    ],
)
def test_what_is_wrong_names_file_line_and_key(
    folder: Path, content: str, line: int | None, words: str, hint: str
) -> None:
    found = complaints(folder, content)
    place = str(folder / "mine.toml") + (f":{line}: " if line else "")
    [failure] = [failure for failure in found if words in failure.text and hint in failure.hint]
    assert failure.text.startswith(place)
    assert "\x1b" not in failure.text


@pytest.mark.parametrize(
    "value", ["auto", "auto 50%", "red 50%", "#00000000", "transparent", "ansi_red", "bold"]
)
def test_no_variable_can_break_the_theme_later(folder: Path, value: str) -> None:
    path = folder / "mine.toml"
    for name in sorted(_variable_names()):
        path.write_text(f"name = 'x'\n[colors]\nprimary = '#123'\n[variables]\n{name} = '{value}'\n")
        theme, _ = read_theme(path)
        if theme is not None:
            theme.to_color_system().generate()


def test_choosing() -> None:
    found = load_themes({"HOME": "/nonexistent"})
    assert [found.choose(None)[0].name, found.choose(None, few_colors=True)[0].name] == ["dark", "ansi"]
    assert found.choose("light", few_colors=True)[0].name == "light"
    theme, failure = found.choose("lihgt")
    assert theme.name == "dark"
    assert failure is not None
    assert (failure.code, failure.hint) == ("unknown_theme", "Did you mean light?")
    assert "\x1b" not in str(found.choose("\x1b]0;x\x07")[1])


def test_choosing_where_only_one_is_left(environ: dict[str, str]) -> None:
    dark = load_themes(environ).themes["dark"]
    assert ThemeSet({"dark": dark}).choose(None, few_colors=True)[0] is dark
