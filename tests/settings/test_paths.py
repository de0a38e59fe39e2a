from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from kvtop.settings import paths

HOME = {"HOME": "/home/ada"}


def test_defaults_below_home() -> None:
    assert paths.config_file(HOME) == Path("/home/ada/.config/kvtop/config.toml")
    assert paths.profiles_dir(HOME) == Path("/home/ada/.config/kvtop/profiles")
    assert paths.themes_dir(HOME) == Path("/home/ada/.config/kvtop/themes")
    assert paths.runs_dir(HOME) == Path("/home/ada/.local/share/kvtop/runs")
    assert paths.cache_dir(HOME) == Path("/home/ada/.cache/kvtop")


def test_xdg_variables_move_each_folder() -> None:
    environ = {**HOME, "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d", "XDG_CACHE_HOME": "/k"}
    assert paths.config_file(environ) == Path("/c/kvtop/config.toml")
    assert paths.runs_dir(environ) == Path("/d/kvtop/runs")
    assert paths.cache_dir(environ) == Path("/k/kvtop")


@pytest.mark.parametrize("value", ["", "relative/path", "./x", "~/.config"])
def test_relative_xdg_values_are_ignored(value: str) -> None:
    environ = {**HOME, "XDG_CONFIG_HOME": value, "XDG_DATA_HOME": value}
    assert paths.config_file(environ) == Path("/home/ada/.config/kvtop/config.toml")
    assert paths.runs_dir(environ) == Path("/home/ada/.local/share/kvtop/runs")


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "somewhere"}])
def test_without_a_usable_home_the_account_knows(environ: dict[str, str]) -> None:
    assert paths.home_dir(environ) == Path(pwd.getpwuid(os.getuid()).pw_dir)


def test_an_account_that_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert paths.home_dir({}) == Path("/")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("~", "/home/ada"), ("~/x/y", "/home/ada/x/y"), ("/x", "/x"), ("~bob/x", "~bob/x"), ("a~/b", "a~/b")],
)
def test_expand_home(text: str, expected: str) -> None:
    assert paths.expand_home(text, HOME) == Path(expected)


def test_shipped_files_of_this_checkout() -> None:
    assert (paths.shipped_dir("profiles") / "taotoken.toml").is_file()
    assert paths.shipped_dir("themes").is_dir()


def test_shipped_files_of_an_installation(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "kvtop"
    (package / "shipped" / "profiles").mkdir(parents=True)
    assert paths.shipped_dir("profiles", package) == package / "shipped" / "profiles"


def test_somebody_elses_folder_beside_an_installation_is_not_ours(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "kvtop"
    package.mkdir(parents=True)
    (tmp_path / "site-packages" / "profiles").mkdir()
    assert paths.shipped_dir("profiles", package) == package / "shipped" / "profiles"
