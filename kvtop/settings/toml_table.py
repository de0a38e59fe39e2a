"""Typed reading of a TOML table, key by key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from kvtop.model.secret import Secret
from kvtop.model.text import clean_text
from kvtop.settings.toml_text import TomlFile, nearest

if TYPE_CHECKING:
    from collections.abc import Collection

    from kvtop.model.failure import KvtopError

_T = TypeVar("_T")
_LONGEST_SHOWN = 60

_TYPES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text in quotes",
    list: "a list",
    dict: "a table",
}


class TomlTable:
    """One table of a file. Every complaint names file, line and key; none repeats a value unasked."""

    __slots__ = ("_file", "_path", "_values")

    def __init__(
        self, file: TomlFile, values: dict[str, Any] | None = None, path: tuple[str, ...] = ()
    ) -> None:
        self._file = file
        self._values = file.values if values is None else values
        self._path = path

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def names(self) -> tuple[str, ...]:
        """Return the keys of this table in the order of the file."""
        return tuple(self._values)

    def allow(self, known: Collection[str]) -> None:
        """Raise KvtopError `unknown_key` for the first key that is not in `known`."""
        for name in self._values:
            if name not in known:
                raise self._unknown(name, known)

    def raw(self, name: str) -> Any:
        """Return the value as TOML gave it, or None when the key is not there."""
        return self._values.get(name)

    def text(self, name: str) -> str | None:
        """Return one line of text that is not empty, or None. Raises KvtopError `bad_value`."""
        value = self._typed(name, str)
        if value is None or (value and value == value.strip() and value.isprintable()):
            return value
        empty = not value.strip()
        del value
        raise self.error(
            name, "is empty" if empty else "has white space around it or a control character in it"
        )

    def secret(self, name: str) -> Secret | None:
        """Return a text as a Secret, or None. Raises KvtopError `bad_value`."""
        value = self._typed(name, str)
        return None if value is None else Secret(value)

    def integer(self, name: str, at_least: int = 1) -> int | None:
        """Return a whole number of at least `at_least`, or None. Raises KvtopError `bad_value`."""
        value = self._typed(name, int)
        if value is not None and value < at_least:
            raise self.error(name, f"is {shown(value)}, but must be at least {at_least}")
        return value

    def number(self, name: str) -> float | None:
        """Return a finite number that is not negative, or None. Raises KvtopError `bad_value`."""
        value = self._typed(name, float)
        if value is not None and not 0 <= value < float("inf"):
            raise self.error(name, f"is {shown(value)}, but must be a number of at least 0")
        return value

    def switch(self, name: str, *, default: bool) -> bool:
        """Return true or false. Raises KvtopError `bad_value`."""
        value = self._typed(name, bool)
        return default if value is None else value

    def choice(self, name: str, options: Collection[str]) -> str | None:
        """Return one of `options`, or None. Raises KvtopError `bad_value` that names the nearest option."""
        value = self.text(name)
        if value is None or value in options:
            return value
        close = nearest(value, options)
        hint = f"Did you mean {close}?" if close else ""
        raise self.error(name, f"is {shown(value)}, but must be one of {', '.join(options)}", hint)

    def table(self, name: str) -> TomlTable:
        """Return a table inside this one, empty when it is not there. Raises KvtopError `bad_value`."""
        value = self._typed(name, dict)
        return TomlTable(self._file, {} if value is None else value, (*self._path, name))

    def texts(self) -> dict[str, str]:
        """Return this table, all of whose values must be texts. Raises KvtopError `bad_value`."""
        return {name: self._typed(name, str) or "" for name in self._values}

    def error(self, name: str, text: str, hint: str = "") -> KvtopError:
        """Return a `bad_value` complaint about a key of this table, to be raised."""
        path = (*self._path, name)
        return self._file.error("bad_value", path, f"{'.'.join(path)} {text}.", hint)

    def _typed(self, name: str, kind: type[_T]) -> _T | None:
        value = self._values.get(name)
        if value is None or type(value) is kind:
            return value
        if kind is float and type(value) is int:
            return cast("_T", float(value))
        del value
        raise self.error(name, f"must be {_TYPES[kind]}, not {self._kind_of(name)}")

    def _kind_of(self, name: str) -> str:
        return _TYPES.get(type(self._values[name]), "a date or time")

    def _unknown(self, name: str, known: Collection[str]) -> KvtopError:
        where = f" in [{'.'.join(self._path)}]" if self._path else ""
        close = nearest(name, known)
        hint = f"Did you mean {close}?" if close else f"Valid keys{where}: {', '.join(sorted(known))}."
        return self._file.error(
            "unknown_key", (*self._path, name), f"unknown key {shown(name)}{where}.", hint
        )


def shown(value: object) -> str:
    """Return a value from a file as a short, clean piece of a sentence."""
    return clean_text(repr(value) if isinstance(value, str) else value, _LONGEST_SHOWN)
