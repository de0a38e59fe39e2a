from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kvtop.providers import store
from kvtop.providers.store import list_profiles, load_profile
from kvtop.settings.paths import shipped_dir
from tests.providers.conftest import MINIMAL, failure_of

Write = Callable[..., Path]


def test_own_profiles_and_shipped_ones(write: Write, environ: dict[str, str]) -> None:
    path = write(MINIMAL)
    entries = {entry.name: entry for entry in list_profiles(environ)}
    assert entries["lab"].path == path
    assert not entries["lab"].shipped
    assert entries["taotoken"].shipped
    assert list(entries) == sorted(entries)
    assert all(entry.problem is None for entry in entries.values())


def test_own_profile_hides_the_shipped_one(write: Write, environ: dict[str, str]) -> None:
    path = write(MINIMAL, name="taotoken")
    (entry,) = [entry for entry in list_profiles(environ) if entry.name == "taotoken"]
    assert (entry.path, entry.shipped) == (path, False)
    assert load_profile("taotoken", environ).base_url == "https://api.example.com"


def test_shipped_profile_is_loaded(environ: dict[str, str]) -> None:
    assert load_profile("taotoken", environ).key.env == "TAOTOKEN_API_KEY"


def test_broken_own_profile_is_listed_with_its_problem_and_not_replaced(
    write: Write, environ: dict[str, str]
) -> None:
    path = write("model = \n", name="taotoken")
    (entry,) = [entry for entry in list_profiles(environ) if entry.name == "taotoken"]
    assert entry.problem is not None
    assert f"{path}:1" in entry.problem.text
    assert failure_of(lambda: load_profile("taotoken", environ)).code == "bad_toml"


def test_dangling_link_is_a_problem(write: Write, environ: dict[str, str]) -> None:
    path = write(MINIMAL)
    path.unlink()
    path.symlink_to("gone.toml")
    assert failure_of(lambda: load_profile("lab", environ)).code == "bad_toml"


def test_link_into_a_dotfiles_folder(write: Write, environ: dict[str, str], tmp_path: Path) -> None:
    path = write(MINIMAL)
    path.rename(tmp_path / "real.toml")
    path.symlink_to(tmp_path / "real.toml")
    assert load_profile("lab", environ).name == "lab"


def test_files_that_are_no_profiles(write: Write, environ: dict[str, str]) -> None:
    folder = write(MINIMAL).parent
    (folder / "notes.txt").write_text("x")
    (folder / ".lab.toml").write_text("x")
    (folder / ".#lab.toml").symlink_to("nowhere")
    (folder / "my profile.toml").write_text(MINIMAL)
    (folder / "sub.toml").mkdir()
    own = {entry.name: entry.problem for entry in list_profiles(environ) if not entry.shipped}
    assert set(own) == {"lab", "my profile", "sub"}
    assert own["my profile"] is not None
    assert own["my profile"].code == "bad_name"
    assert own["sub"] is not None


@pytest.mark.parametrize(
    "name",
    [
        "../secret",
        "/etc/passwd",
        "..",
        ".",
        "",
        "a/b",
        "a\\b",
        ".hidden",
        "a\0b",
        "x" * 65,
        "a..b",
        "~",
        "\x1b[31m",
        "lab\n",
    ],
)
def test_names_cannot_leave_the_folder(write: Write, environ: dict[str, str], name: str) -> None:
    folder = write(MINIMAL).parent
    (folder.parent / "secret.toml").write_text(MINIMAL)
    failure = failure_of(lambda: load_profile(name, environ))
    assert failure.code == "no_such_profile"
    assert "\x1b" not in str(failure)


@pytest.mark.parametrize(
    ("name", "near"), [("taotokn", "taotoken"), ("lab.toml", "lab"), ("Local_VLLM", "local-vllm")]
)
def test_nearest_name(write: Write, environ: dict[str, str], name: str, near: str) -> None:
    write(MINIMAL)
    failure = failure_of(lambda: load_profile(name, environ))
    assert failure.code == "no_such_profile"
    assert failure.hint.startswith(f"Did you mean {near}?")


def test_no_profile_at_all_says_how_to_write_one(
    environ: dict[str, str], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "shipped_dir", lambda kind: tmp_path / "nothing")
    assert list_profiles(environ) == []
    failure = failure_of(lambda: load_profile("lab", environ))
    assert failure.code == "no_such_profile"
    assert f"{home}/.config/kvtop/profiles/NAME.toml" in failure.hint
    assert "base_url" in failure.hint


def test_profile_folder_that_is_a_file(environ: dict[str, str], home: Path) -> None:
    (home / ".config/kvtop").mkdir(parents=True)
    (home / ".config/kvtop/profiles").write_text("x")
    assert failure_of(lambda: list_profiles(environ)).code == "unreadable"


SHIPPED = sorted(path.stem for path in shipped_dir("profiles").glob("*.toml"))


def test_what_is_shipped() -> None:
    local = {f"local-{engine}" for engine in ("vllm", "sglang", "llamacpp", "ollama", "transformers")}
    assert set(SHIPPED) == {"taotoken", "deepseek", "openai", "anthropic", *local}


@pytest.mark.parametrize("name", SHIPPED)
def test_each_shipped_profile_loads_and_says_what_to_change(environ: dict[str, str], name: str) -> None:
    profile = load_profile(name, environ)
    assert profile.flags == ()
    assert profile.price is None
    assert (profile.key.env is None) == name.startswith("local-")
    assert profile.path is not None
    assert "# Change: " in profile.path.read_text()
