from __future__ import annotations

import pytest

from kvtop.ui.actions import ACTIONS, Action, remapped, shown_key


def origins(keys: dict[str, str]) -> dict[str, str]:
    return {f"keys.{name}": "file config.toml:3" for name in keys}


def test_ids_and_keys_are_unique() -> None:
    ids = [action.id for action in ACTIONS]
    keys = [key for action in ACTIONS for key in action.keys]
    assert len(set(ids)) == len(ids)
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_every_action_has_a_plain_key_a_label_and_a_sentence(action: Action) -> None:
    assert action.label
    assert action.help.endswith(".")
    assert len(action.help) <= 58, "longer than a line of the help"
    if action.id not in ("suspend", "restore", "redraw"):
        assert len(shown_key(action.key)) == 1, "a chord is not the same on every terminal"


def test_a_remapped_action_has_only_its_new_key() -> None:
    keys = {"scan": "f2,S"}
    actions, complaints = remapped(keys, origins(keys))
    assert next(action for action in actions if action.id == "scan").keys == ("f2", "S")
    assert complaints == ()


def test_an_unknown_id_is_one_complaint_that_names_the_nearest() -> None:
    keys = {"skan": "f2"}
    actions, complaints = remapped(keys, origins(keys))
    assert actions == ACTIONS
    assert [failure.code for failure in complaints] == ["unknown_action"]
    assert "config.toml:3" in complaints[0].text
    assert "scan" in complaints[0].hint


def test_ids_of_panels_are_known() -> None:
    keys = {"log.up": "u"}
    assert remapped(keys, origins(keys), others={"log.up"})[1] == ()


def test_a_key_that_was_taken_leaves_its_action_without_one_and_says_so() -> None:
    keys = {"scan": "r"}
    actions, complaints = remapped(keys, origins(keys))
    by_id = {action.id: action for action in actions}
    assert by_id["scan"].keys == ("r",)
    assert by_id["runs"].keys == ()
    assert [failure.code for failure in complaints] == ["key_taken"]
    assert "runs" in complaints[0].text


def test_a_character_and_its_name_are_the_same_key() -> None:
    keys = {"scan": "?"}
    actions, complaints = remapped(keys, origins(keys))
    assert next(action for action in actions if action.id == "help").keys == ()
    assert len(complaints) == 1


def test_swapped_keys_are_no_clash() -> None:
    keys = {"scan": "r", "runs": "s"}
    actions, complaints = remapped(keys, origins(keys))
    assert complaints == ()
    assert {action.id: action.key for action in actions if action.id in keys} == keys


def test_of_two_actions_with_one_key_only_one_has_it() -> None:
    # The settings refuse this; the app does not depend on it.
    keys = {"scan": "z", "runs": "z"}
    actions, complaints = remapped(keys, origins(keys))
    assert sorted(action.key for action in actions if action.id in keys) == ["", "z"]
    assert [failure.code for failure in complaints] == ["key_taken"]


@pytest.mark.parametrize(
    ("key", "shown"),
    [("question_mark", "?"), ("slash", "/"), ("escape", "Esc"), ("ctrl+z", "^z"), ("shift+f1", "shift+f1")],
)
def test_keys_are_shown_as_people_write_them(key: str, shown: str) -> None:
    assert shown_key(key) == shown
