"""Where each key of a TOML text stands. tomllib tells values but no lines."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

KeyPath = tuple[str, ...]

_TOKEN = re.compile(
    r"(?P<comment>#[^\n]*)"
    r'|(?P<multi>"""(?:[^\\]|\\.)*?"""{1,3}|\'\'\'.*?\'{3,5})'
    r'|(?P<quoted>"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\')'
    r"|(?P<bare>[A-Za-z0-9_-]+)"
    r"|(?P<newline>\n)"
    r"|(?P<mark>[\[\]{}=,])"
    r"|(?P<other>.)",
    re.DOTALL,
)


def lines_of_keys(text: str) -> Mapping[KeyPath, int]:
    """Return the line (from 1) of each table and key of a TOML text that tomllib accepts.

    The first occurrence counts for arrays of tables. Keys of tables inside arrays are left out.
    """
    scanner = _Scanner()
    for match in _TOKEN.finditer(text):
        scanner.take(match.lastgroup or "other", match.group())
    scanner.take("newline", "\n")
    return scanner.lines


class _Scanner:
    """Walks over tokens and notes each key when its `=` or the end of its header arrives."""

    def __init__(self) -> None:
        self.lines: dict[KeyPath, int] = {}
        self._line = 1
        self._table: KeyPath = ()
        self._key: list[str] = []
        self._reading: str | None = "key"
        # `key`, `header`, or None while a plain value is passed over.
        self._open: list[tuple[str, KeyPath]] = []
        # Brackets around the current value, with the key path that each belongs to.
        self._current: KeyPath = ()

    def take(self, kind: str, piece: str) -> None:
        """Take the next piece of text."""
        if kind == "newline":
            self._end_line()
        elif kind == "mark":
            self._mark(piece)
        elif kind in ("bare", "quoted") and self._reading:
            self._key.append(_unquoted(piece))
        self._line += piece.count("\n")

    def _end_line(self) -> None:
        if self._open:
            return
        if self._reading == "header":
            self._table = tuple(self._key)
            self._note(self._table)
        self._reading, self._key = "key", []

    def _mark(self, piece: str) -> None:
        if piece == "[" and self._reading == "key" and not self._open and not self._key:
            self._reading = "header"
        elif self._reading == "header":
            return
        elif piece == "=":
            self._current = (*self._prefix(), *self._key)
            self._note(self._current)
            self._reading, self._key = None, []
        elif piece in "[{":
            self._open.append((piece, self._current))
            self._expect_key()
        elif piece in "]}":
            self._open = self._open[:-1]
            self._reading, self._key = None, []
        elif piece == ",":
            self._expect_key()

    def _expect_key(self) -> None:
        in_table = self._open[-1:] and self._open[-1][0] == "{"
        self._reading = "key" if in_table and not self._in_array() else None

    def _in_array(self) -> bool:
        return any(bracket == "[" for bracket, _ in self._open)

    def _prefix(self) -> KeyPath:
        return self._open[-1][1] if self._open else self._table

    def _note(self, path: KeyPath) -> None:
        if not self._in_array():
            self.lines.setdefault(path, self._line)


def _unquoted(piece: str) -> str:
    if piece[0] not in "\"'":
        return piece
    return str(tomllib.loads(f"key = {piece}")["key"])
