from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kvtop.model.failure import KvtopError
from kvtop.settings.key_map import KeyMap, read_key_map, unknown_actions
from kvtop.settings.toml_text import read_toml

if TYPE_CHECKING:
    from pathlib import Path


def key_map(folder: Path, content: str) -> KeyMap:
    path = folder / "config.toml"
    path.write_text(content)
    return read_key_map(read_toml(path))


def test_keys_by_action_id(tmp_path: Path) -> None:
    found = key_map(
        tmp_path, '[keys]\nquit = "q, ctrl+q ,q"\n"runs.cancel" = "?"\nhelp = "f1,question_mark"\n'
    )
    assert found.keys == {"quit": "q,ctrl+q", "runs.cancel": "?", "help": "f1,question_mark"}
    assert found.origins["keys.runs.cancel"] == f"file {tmp_path / 'config.toml'}:3"


def test_without_file_or_table_nothing_is_remapped(tmp_path: Path) -> None:
    assert read_key_map(None) == key_map(tmp_path, "[ui]\nascii = true\n") == KeyMap()


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("keys = 3\n", 1, "must be a table"),
        ("[keys]\nquit = 3\n", 2, "must be a text in quotes"),
        ("[keys]\nquit = ''\n", 2, "is empty"),
        ("[keys]\nquit = 'a,'\n", 2, "is no key"),
        ("[keys]\nquit = 'ctrl + x'\n", 2, "is no key"),
        ("[keys]\nquit = 'Ctrl+x'\n", 2, "is no key"),
        ("[keys]\nquit = ['a']\n", 2, "must be a text in quotes"),
        ('[keys]\nquit = "a\\u0007"\n', 2, "control character"),
        ("[keys]\nquit = 'ctrl+i'\n", 2, "most terminals send as tab"),
        ("[keys]\nquit = 'x'\nscan = 's,x'\n", 3, "'x', which quit has already"),
        ("[keys]\n\nQuit = 'x'\n", 3, "is no action"),
        ('[keys]\n"a\\u001b[31mb" = "x"\n', 2, "is no action"),
    ],
)
def test_wrong_form_names_file_line_and_key(tmp_path: Path, content: str, line: int, words: str) -> None:
    with pytest.raises(KvtopError) as caught:
        key_map(tmp_path, content)
    failure = caught.value.failure
    assert failure.code == "bad_value"
    assert f"config.toml:{line}: keys" in failure.text
    assert words in failure.text
    assert "\x1b" not in failure.text


def test_actions_that_do_not_exist(tmp_path: Path) -> None:
    found = key_map(tmp_path, "[keys]\nquit = 'x'\nscna = 'y'\nzzz = 'z'\n")
    failures = unknown_actions(found.keys, found.origins, ("quit", "scan"))
    assert [failure.code for failure in failures] == ["unknown_action", "unknown_action"]
    assert failures[0].text == f"{tmp_path / 'config.toml'}:3: unknown action 'scna' in [keys]."
    assert failures[0].hint == "Did you mean scan?"
    assert "help" in failures[1].hint
