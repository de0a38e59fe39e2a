"""`[keys]` of config.toml: which keys do what in the app, by action id.

Which actions exist is the app's knowledge; here only the form is checked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kvtop.model.failure import Failure
from kvtop.settings.toml_table import TomlTable, shown
from kvtop.settings.toml_text import TomlFile, nearest, place

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

KEYS_TABLE = "keys"

_ACTION_ID = re.compile(r"[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*")
_MODIFIERS = r"(?:(?:ctrl|shift|alt|super|hyper|meta)\+)*"
_NAMED_KEY = re.compile(_MODIFIERS + r"(?:[A-Za-z0-9]|[a-z][a-z0-9]*(?:_[a-z0-9]+)*)")
_SAME_IN_A_TERMINAL = {
    "ctrl+i": "tab",
    "ctrl+m": "enter",
    "ctrl+j": "enter",
    "ctrl+h": "backspace",
    "ctrl+left_square_bracket": "escape",
}
"""Chords that a terminal without the kitty protocol sends as another key."""


@dataclass(frozen=True, slots=True)
class KeyMap:
    """The user's own keys."""

    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys by action id; several stand with commas between: `q,ctrl+q`."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where each came from, e.g. `file PATH:LINE`, by `keys.ACTION`."""


def read_key_map(file: TomlFile | None) -> KeyMap:
    """Return the checked `[keys]` table of a settings file; empty without a file or table.

    Raises KvtopError `bad_value` for an id or key of the wrong form and a key that is given twice.
    """
    if file is None:
        return KeyMap()
    table = TomlTable(file).table(KEYS_TABLE)
    keys: dict[str, str] = {}
    taken: dict[str, str] = {}
    for action in table.names():
        if not _ACTION_ID.fullmatch(action):
            raise table.error(action, "is no action: ids are lower-case words")
        chords = _chords(table, action)
        for chord in chords:
            if taken.setdefault(chord, action) != action:
                raise table.error(action, f"is {shown(chord)}, which {taken[chord]} has already")
        keys[action] = ",".join(chords)
    return KeyMap(keys, {f"keys.{action}": _origin(file, action) for action in keys})


def unknown_actions(
    keys: Mapping[str, str], origins: Mapping[str, str], known: Collection[str]
) -> tuple[Failure, ...]:
    """Return one complaint for each key of `[keys]` that is none of the `known` action ids."""
    return tuple(
        _unknown_action(action, origins[f"keys.{action}"], known) for action in keys if action not in known
    )


def _unknown_action(action: str, origin: str, known: Collection[str]) -> Failure:
    close = nearest(action, known)
    hint = f"Did you mean {close}?" if close else "The help of the app (?) lists all actions."
    where = origin.removeprefix("file ")
    return Failure.of("unknown_action", f"{where}: unknown action {shown(action)} in [keys].", hint)


def _origin(file: TomlFile, action: str) -> str:
    return f"file {place(file.path, file.line_of((KEYS_TABLE, action)))}"


def _chords(table: TomlTable, action: str) -> tuple[str, ...]:
    """Return the keys of one action. A comma separates, so the comma key itself is `comma`."""
    text = table.text(action) or ""
    chords = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for chord in chords:
        complaint = _complaint(chord)
        if complaint:
            raise table.error(action, f"is {shown(chord)}, {complaint}")
    return chords


def _complaint(chord: str) -> str | None:
    if chord in _SAME_IN_A_TERMINAL:
        return f"which most terminals send as {_SAME_IN_A_TERMINAL[chord]}"
    one_printable = len(chord) == 1 and chord.isprintable() and not chord.isspace()
    if one_printable or _NAMED_KEY.fullmatch(chord):
        return None
    return "which is no key: write a character, a name such as f5 or question_mark, or ctrl+x"
