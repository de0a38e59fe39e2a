from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kvtop.cli import exit_codes
from kvtop.cli.config import setting_values
from kvtop.cli.main import run_command_line
from kvtop.settings.config import load_settings
from kvtop.settings.keys import KEYS

FULL = """\
profile = "lab"
[sampling]
interval = "50ms"
[scan]
lengths = ["4k", 5000]
[ui]
ascii = true
[keys]
quit = "x,ctrl+x"
"""


@pytest.fixture
def file(home: Path) -> Path:
    path = home / ".config" / "kvtop" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


def rows_of(text: str) -> dict[str, list[str]]:
    return {line.split()[0]: line.split()[1:] for line in text.splitlines()[2:]}


def shown_json(capsys: pytest.CaptureFixture[str], code: int = exit_codes.DONE) -> dict[str, Any]:
    assert run_command_line(["config", "show", "--json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "kvtop.config.show/1"
    return dict(document)


def test_each_setting_is_shown(home: Path) -> None:
    assert setting_values(load_settings({"HOME": str(home)})).keys() == {key.name for key in KEYS}


def test_without_a_file(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["config", "show"]) == exit_codes.DONE
    text = capsys.readouterr().out
    assert text.startswith(f"file: {home}/.config/kvtop/config.toml  (not there yet)\n\n")
    rows = rows_of(text)
    assert rows["profile"] == ["–", "default"]
    assert rows["sampling.interval"] == ["100ms", "default"]
    assert rows["requests.timeout"] == ["300s", "default"]
    assert rows["scan.lengths"] == ["4k,16k,32k,64k,128k", "default"]
    assert rows["runs.dir"] == [f"{home}/.local/share/kvtop/runs", "default"]
    assert rows["ui.mouse"] == ["true", "default"]


def test_origins(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(FULL)
    monkeypatch.setenv("KVTOP_SCAN_REPEATS", "7")
    assert run_command_line(["config", "show"]) == exit_codes.DONE
    text = capsys.readouterr().out
    assert text.startswith(f"file: {file}\n\n")
    rows = rows_of(text)
    assert rows["sampling.interval"] == ["50ms", "file", f"{file}:3"]
    assert rows["scan.lengths"] == ["4k,5000", "file", f"{file}:5"]
    assert rows["scan.repeats"] == ["7", "env", "KVTOP_SCAN_REPEATS"]
    assert rows["keys.quit"] == ["x,ctrl+x", "file", f"{file}:9"]


def test_what_is_shown_can_be_given_again(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(FULL)
    run_command_line(["config", "show"])
    rows = rows_of(capsys.readouterr().out)
    before = setting_values(load_settings(os.environ))
    given: dict[str, object] = {key.name: rows[key.name][0] for key in KEYS if rows[key.name][0] != "-"}
    file.unlink()
    assert {**before, **setting_values(load_settings(os.environ, given))} == before


def test_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = shown_json(capsys)
    assert (document["file"], document["file_exists"]) == (str(file), False)
    file.write_text(FULL)
    document = shown_json(capsys)
    assert document["file_exists"] is True
    rows = {row["key"]: row for row in document["settings"]}
    assert rows["sampling.interval"] == {
        "key": "sampling.interval",
        "value": 0.05,
        "origin": f"file {file}:3",
    }
    assert (rows["scan.lengths"]["value"], rows["ui.theme"]["value"]) == ([4096, 5000], None)


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        ("[scan\n", "bad_toml", "config.toml:1: "),
        ("[scan]\nrepeat = 3\n", "unknown_key", "config.toml:2: unknown key 'repeat'"),
        ("[ui]\nmax_fps = 0\n", "bad_value", "config.toml:2: ui.max_fps"),
        ("[keys]\nquit = 'ctrl + q'\n", "bad_value", "config.toml:2: keys.quit"),
    ],
)
def test_a_broken_file(
    file: Path, capsys: pytest.CaptureFixture[str], content: str, code: str, words: str
) -> None:
    file.write_text(content)
    assert run_command_line(["config", "show"]) == exit_codes.WRONG_USE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"file: {file}\n" in captured.err
    assert words in captured.err
    document = shown_json(capsys, exit_codes.WRONG_USE)
    assert document["failure"]["code"] == code
    assert words in document["failure"]["text"]


def test_a_wrong_variable(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVTOP_UI_MOUSE", "perhaps")
    assert run_command_line(["config", "show"]) == exit_codes.WRONG_USE
    assert "KVTOP_UI_MOUSE is 'perhaps', but must be true or false." in capsys.readouterr().err


def test_a_value_with_an_escape_in_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text('[runs]\ndir = "/a\\u001b[31mb"\n')
    assert run_command_line(["config", "show"]) == exit_codes.DONE
    assert "\x1b" not in capsys.readouterr().out


def test_an_action_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["config"]) == exit_codes.WRONG_USE
    assert "ACTION" in capsys.readouterr().err
