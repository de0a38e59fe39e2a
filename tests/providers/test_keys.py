from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kvtop.providers.keys import ResolvedKey, key_from_env, resolve_key
from kvtop.providers.profile_file import read_profile
from tests.providers.conftest import MINIMAL, failure_of

KEY = "sk-0123456789abcdefABCDEF"
Write = Callable[..., Path]


@pytest.fixture
def resolve(write: Write, environ: dict[str, str]) -> Callable[..., ResolvedKey]:
    def resolve(line: str, **variables: str) -> ResolvedKey:
        return resolve_key(read_profile(write(f"{line}\n{MINIMAL}")), {**environ, **variables})

    return resolve


def test_none(resolve: Callable[..., ResolvedKey]) -> None:
    assert resolve("") == ResolvedKey(None, "none")


def test_env(resolve: Callable[..., ResolvedKey]) -> None:
    found = resolve('key_env = "LAB_KEY"', LAB_KEY=KEY)
    assert found.secret is not None
    assert found.secret.reveal() == KEY
    assert found.origin == "env LAB_KEY"
    assert KEY not in repr(found) + str(found)


@pytest.mark.parametrize(
    ("value", "code", "words"),
    [
        (None, "no_key", "is not set"),
        ("", "no_key", "is empty"),
        ("   ", "no_key", "is empty"),
        (f'"{KEY}"', "odd_key", "quotes"),
        (f"'{KEY}'", "odd_key", "quotes"),
        (f"{KEY}\n", "odd_key", "white space"),
        (f"{KEY}\r", "odd_key", "white space"),
        (f"Bearer {KEY}", "odd_key", "Bearer"),
    ],
)
def test_bad_variables_say_how_to_set_them(value: str | None, code: str, words: str) -> None:
    environ = {} if value is None else {"LAB_KEY": value}
    failure = failure_of(lambda: key_from_env("LAB_KEY", environ), KEY)
    assert failure.code == code
    assert words in failure.text
    assert "LAB_KEY" in failure.text
    assert failure.hint == "export LAB_KEY=…"


def test_key_file_beside_the_profile_and_below_home(resolve: Callable[..., ResolvedKey], home: Path) -> None:
    for folder, written in ((home / ".config/kvtop/profiles", "lab.key"), (home, "~/lab.key")):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "lab.key").write_text(f"{KEY}\n")
        (folder / "lab.key").chmod(0o600)
        found = resolve(f'key_file = "{written}"')
        assert found.secret is not None
        assert found.secret.reveal() == KEY
        assert (found.origin, found.flags) == (f"file {written}", ())


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_key_file_that_others_can_read_is_flagged(
    resolve: Callable[..., ResolvedKey], home: Path, mode: int
) -> None:
    (home / "lab.key").write_text(KEY)
    (home / "lab.key").chmod(mode)
    (flag,) = resolve('key_file = "~/lab.key"').flags
    assert flag.code == "key_mode"
    assert f"{mode:o}" in flag.text
    assert flag.hint == f"chmod 600 {home / 'lab.key'}"
    assert KEY not in repr(flag)


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (None, "no_key", "not there"),
        ("", "no_key", "empty"),
        ("\n\n", "no_key", "empty"),
        (f"{KEY}\nsecond\n", "odd_key", "2 lines"),
        (f'export LAB_KEY="{KEY}"\n', "odd_key", "use key_env"),
        (f'"{KEY}"\n', "odd_key", "quotes"),
        (f"{KEY} \n", "odd_key", "white space"),
        ("\x00\xff\xfe\x01", "odd_key", "header"),
    ],
)
def test_bad_key_files(
    resolve: Callable[..., ResolvedKey], home: Path, content: str | None, code: str, words: str
) -> None:
    if content is not None:
        (home / "lab.key").write_bytes(content.encode("latin-1"))
    failure = failure_of(lambda: resolve('key_file = "~/lab.key"'), KEY)
    assert failure.code == code
    assert words in failure.text
    assert str(home / "lab.key") in failure.text


def test_key_file_that_would_block_or_is_a_folder(resolve: Callable[..., ResolvedKey], home: Path) -> None:
    os.mkfifo(home / "lab.key")
    assert failure_of(lambda: resolve('key_file = "~/lab.key"')).code == "no_key"
    assert failure_of(lambda: resolve('key_file = "~"')).code == "no_key"


def test_key_file_of_windows(resolve: Callable[..., ResolvedKey], home: Path) -> None:
    (home / "lab.key").write_bytes(b"\xef\xbb\xbf" + KEY.encode() + b"\r\n")
    found = resolve('key_file = "~/lab.key"')
    assert found.secret is not None
    assert found.secret.reveal() == KEY


@pytest.mark.parametrize(
    "line", [f"key_command = ['printf', '{KEY}\\n']", f"key_command = \"printf '{KEY}\\\\n'\""]
)
def test_command_as_list_and_as_text(resolve: Callable[..., ResolvedKey], line: str) -> None:
    found = resolve(line)
    assert found.secret is not None
    assert found.secret.reveal() == KEY
    assert found.origin == "command printf"


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        ("raise SystemExit(7)", "no_key", "exit code 7"),
        ("pass", "no_key", "is empty"),
        (f"print('{KEY}'); raise SystemExit(1)", "no_key", "exit code 1"),
        (f"print('{KEY}'); raise RuntimeError('{KEY}')", "no_key", "exit code 1"),
        (f"print('{KEY}'); print('{KEY}')", "odd_key", "white space"),
        (f"print('\"{KEY}\"')", "odd_key", "quotes"),
    ],
)
def test_bad_commands(
    resolve: Callable[..., ResolvedKey], tmp_path: Path, script: str, code: str, words: str
) -> None:
    (tmp_path / "print_key.py").write_text(script)
    line = f"key_command = ['{sys.executable}', '{tmp_path / 'print_key.py'}']"
    failure = failure_of(lambda: resolve(line), KEY)
    assert failure.code == code
    assert words in failure.text


def test_literal(resolve: Callable[..., ResolvedKey]) -> None:
    found = resolve(f'key = "{KEY}"')
    assert found.secret is not None
    assert found.secret.reveal() == KEY
    assert found.origin == "profile"
    assert failure_of(lambda: resolve('key = ""')).code == "no_key"
    assert failure_of(lambda: resolve(f"key = \"'{KEY}'\""), KEY).code == "odd_key"


def test_nothing_is_logged(resolve: Callable[..., ResolvedKey], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        resolve('key_env = "LAB_KEY"', LAB_KEY=KEY)
        resolve(f"key_command = ['printf', '{KEY}']")
    assert KEY not in caplog.text
