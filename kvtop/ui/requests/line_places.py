"""Where the lines of a file are, and which request each of them is about."""

from __future__ import annotations

import os
import re
from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

_ID_START = b'{"id":"'
_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*"((?:[^"\\]|\\.)*)"')
_HEAD_BYTES = 512
"""Where the id of a line must be."""


class LinePlaces:
    """Where lines begin and how long they are, in sixteen bytes a line."""

    def __init__(self) -> None:
        self._starts = array("Q")
        self._lengths = array("Q")

    def __len__(self) -> int:
        return len(self._lengths)

    def __getitem__(self, place: int) -> tuple[int, int]:
        return self._starts[place], self._lengths[place]

    def extend(self, lines: Sequence[tuple[int, int, bytes]]) -> None:
        """Add lines. The length comes last: it is what says that there is one."""
        self._starts.extend([start for start, _, _ in lines])
        self._lengths.extend([length for _, length, _ in lines])


def read_at(file: BinaryIO, start: int, size: int) -> bytes:
    """Return up to `size` bytes from `start`. Raises OSError."""
    return os.pread(file.fileno(), size, start)


def head_of(file: BinaryIO, begin: int, end: int, piece: bytes) -> bytes:
    """Return the beginning of a line of which `piece` may hold too little."""
    if len(piece) >= _HEAD_BYTES or begin + len(piece) == end:
        return piece
    return read_at(file, begin, min(end - begin, _HEAD_BYTES))


def key_of(head: bytes) -> int | None:
    """Return a number for the id of a line, None where it has none.

    In a log of a million ids two share a number with a probability of 3e-8.
    """
    if head.startswith(_ID_START):
        end = head.find(b'"', len(_ID_START))
        if end >= 0 and b"\\" not in (name := head[len(_ID_START) : end]):
            return hash(name)
    match = _ID.match(head, 0, _HEAD_BYTES)
    return hash(match[1]) if match else None
