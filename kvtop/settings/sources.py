"""Which source a setting's value comes from: flag > environment > file > default."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from kvtop.model.failure import Failure, KvtopError
from kvtop.settings.key_map import KEYS_TABLE
from kvtop.settings.keys import KEYS, Key
from kvtop.settings.toml_table import TomlTable
from kvtop.settings.toml_text import TomlFile, place, read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sources:
    """What the flags, the environment and the file say, and which of them gave each value."""

    flags: Mapping[str, object]
    environ: Mapping[str, str]
    file: TomlFile | None
    origins: dict[str, str] = field(default_factory=dict)
    """Filled by `value`: where each setting came from."""

    def value(self, key: Key[T], default: T) -> T:
        """Return the value of a setting from the first source that has one.

        Raises KvtopError `bad_value` that names the source.
        """
        if self.flags.get(key.name) is not None:
            self.origins[key.name] = f"flag {key.flag}"
            return _from_outside(key, key.flag, self.flags[key.name])
        if self.environ.get(key.variable):
            self.origins[key.name] = f"env {key.variable}"
            return _from_outside(key, key.variable, self.environ[key.variable])
        found = None if self.file is None else _look_up(self.file.values, key.path)
        if self.file is None or found is None:
            self.origins[key.name] = "default"
            return default
        self.origins[key.name] = f"file {place(self.file.path, self.file.line_of(key.path))}"
        return _from_file(key, self.file, found)


def sources(environ: Mapping[str, str], flags: Mapping[str, object], path: Path) -> Sources:
    """Read the settings file, where there is one, and put it behind flags and environment.

    Raises KvtopError `bad_toml`, `unknown_key` or `bad_value`, and KeyError for a flag that is no setting.
    """
    known = {key.name for key in KEYS}
    for name in flags:
        if name not in known:
            raise KeyError(name)
    # A dangling link is an error of the user's set-up, not a file that is not there.
    file = read_toml(path) if os.path.lexists(path) else None
    if file is not None:
        _refuse_unknown(TomlTable(file))
    return Sources(flags, environ, file)


def _refuse_unknown(root: TomlTable) -> None:
    """Check the names of all tables and keys. Raises KvtopError."""
    tables: dict[str, set[str]] = {}
    for key in KEYS:
        head, *rest = key.path
        tables.setdefault(head, set()).update(rest)
    root.allow({*tables, KEYS_TABLE})
    for name, keys in tables.items():
        if keys:
            root.table(name).allow(keys)


def _look_up(values: dict[str, Any], path: tuple[str, ...]) -> object:
    found: Any = values
    for part in path:
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _from_outside(key: Key[T], source: str, given: object) -> T:
    try:
        return key.read(given)
    except ValueError as error:
        raise KvtopError(Failure.of("bad_value", f"{source} {error}.")) from None


def _from_file(key: Key[T], file: TomlFile, given: object) -> T:
    try:
        return key.read(given)
    except ValueError as error:
        raise file.error("bad_value", key.path, f"{key.name} {error}.") from None
