"""Reading a TOML file: every complaint names the file and, where it is known, the line."""

from __future__ import annotations

import codecs
import difflib
import os
import re
import stat
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kvtop.model.failure import Failure, KvtopError
from kvtop.settings.toml_lines import lines_of_keys

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LARGEST_FILE_BYTES = 256 * 1024

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_POSITION = re.compile(r" ?\(at (?:line (\d+), column (\d+)|end of document)\)$")
_DECLARED_TWICE = re.compile(r"Cannot declare \((.*)\) twice")
_GIVEN_TWICE = "Cannot overwrite a value"


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A TOML file that was read. Its text and values may hold a key, so neither is in its repr."""

    path: Path
    text: str = field(repr=False)
    values: dict[str, Any] = field(repr=False)

    def line_of(self, key: tuple[str, ...]) -> int | None:
        """Return the line of a key, or of the nearest table around it, or None if it cannot be found."""
        lines = lines_of_keys(self.text)
        for length in range(len(key), 0, -1):
            if key[:length] in lines:
                return lines[key[:length]]
        return None

    def error(self, code: str, key: tuple[str, ...], text: str, hint: str = "") -> KvtopError:
        """Return a complaint about one key, to be raised."""
        return KvtopError(Failure.of(code, f"{place(self.path, self.line_of(key))}: {text}", hint))


def read_toml(path: Path) -> TomlFile:
    """Read a TOML file; a byte order mark is passed over.

    Raises KvtopError `bad_toml` when it cannot be read, is no UTF-8 or no TOML. The complaint never
    repeats the content.
    """
    raw = _read_bytes(path)
    text = _decode(raw) if isinstance(raw, bytes) else raw
    parsed = _parse(text) if isinstance(text, str) else text
    if isinstance(parsed, _Trouble):
        del raw, text
        raise KvtopError(Failure.of("bad_toml", f"{place(path, parsed.line)}: {parsed.text}", parsed.hint))
    return TomlFile(path, str(text), parsed)


def place(path: Path, line: int | None) -> str:
    """Return `file:line`, or the file alone where the line is not known."""
    return str(path) if line is None else f"{path}:{line}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` was probably meant to be, or None."""
    by_folded = {option.casefold().replace("-", "_"): option for option in known}
    close = difflib.get_close_matches(name.casefold().replace("-", "_"), by_folded, n=1, cutoff=0.6)
    return by_folded[close[0]] if close else None


@dataclass(frozen=True, slots=True)
class _Trouble:
    text: str
    line: int | None = None
    hint: str = ""


def _read_bytes(path: Path) -> bytes | _Trouble:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return _Trouble("is a folder, not a TOML file")
        if not stat.S_ISREG(mode):
            return _Trouble("is not a regular file")
        with path.open("rb") as file:
            raw = file.read(LARGEST_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        return _Trouble(f"cannot be read: {_reason(error)}")
    if len(raw) > LARGEST_FILE_BYTES:
        return _Trouble(f"is larger than {LARGEST_FILE_BYTES // 1024} KiB, so it is no file of kvtop's")
    return raw


def _reason(error: OSError | ValueError) -> str:
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number).lower() if number else "its name is not a path"


def _decode(raw: bytes) -> str | _Trouble:
    if raw.startswith(_UTF16):
        return _Trouble("is UTF-16", hint="Save it as UTF-8.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return _Trouble("is not UTF-8", line, "Save it as UTF-8.")


def _parse(text: str) -> dict[str, Any] | _Trouble:
    try:
        return tomllib.loads(text)
    except RecursionError:
        return _Trouble("is nested too deeply")
    except ValueError as error:
        return _explained(str(error), text)


def _explained(message: str, text: str) -> _Trouble:
    position = _POSITION.search(message)
    if position is None:
        return _Trouble("holds a number that is too long")
    what = _in_plain_words(message[: position.start()])
    if not position[1]:
        return _Trouble(f"{what}, at the end of the file", text.rstrip().count("\n") + 1)
    return _Trouble(f"{what} (column {position[2]})", int(position[1]))


def _in_plain_words(message: str) -> str:
    twice = _DECLARED_TWICE.match(message)
    if twice:
        parts = [part.strip(" '\"") for part in twice[1].split(",") if part.strip()]
        return f"the table [{'.'.join(parts)}] stands here a second time"
    if message.startswith(_GIVEN_TWICE):
        return "this key stands here a second time"
    return message[:1].lower() + message[1:]
