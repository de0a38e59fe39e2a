"""Reads what was added to a growing file of lines, at the price of one stat when nothing was."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtop.model.failure import Failure, KvtopError
from kvtop.runs.disk import open_regular

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 16 << 20
"""Bytes read at one look; a line longer than that is skipped."""


@dataclass(frozen=True, slots=True)
class Added:
    """Whole lines, without their newline, that were added since the last look."""

    lines: tuple[bytes, ...] = ()
    restarted: bool = False
    """Whether the lines are those of a file that was not known before: new, replaced or cut."""
    skipped: bool = False
    """Whether the beginning of that file was left out."""
    more: bool = False
    """Whether there is more to read at once."""


NOTHING = Added()


class LineTail:
    """The whole lines of a file, beginning with its last `opening_bytes`."""

    def __init__(self, path: Path, opening_bytes: int = MOST_BYTES) -> None:
        self._path = path
        self._opening_bytes = opening_bytes
        self._file: tuple[int, int] | None = None
        self._offset = 0
        self._seen_bytes = 0
        self._in_a_line = False

    def read(self) -> Added:
        """Return the lines added since the last call; none when the file is not there.

        Raises KvtopError `unreadable_run` when it cannot be read.
        """
        try:
            return self._read()
        except FileNotFoundError:
            self._file = None
            return NOTHING
        except OSError as error:
            text = f"Cannot read {self._path}: {error.strerror or error}."
            failure = Failure.of("unreadable_run", text, "Check its owner and permissions.")
            raise KvtopError(failure) from error

    def _read(self) -> Added:
        status = self._path.stat()
        file = (status.st_dev, status.st_ino)
        restarted = file != self._file or status.st_size < self._seen_bytes
        if restarted:
            self._begin(status.st_size)
        elif status.st_size == self._seen_bytes:
            return NOTHING
        skipped = restarted and self._offset > 0
        data = self._bytes()
        self._file = file
        self._seen_bytes = self._offset + len(data)
        more = self._seen_bytes < status.st_size
        return Added(tuple(self._lines(data)), restarted, skipped, more)

    def _begin(self, size: int) -> None:
        # One byte before: when that is a newline, the first line is whole.
        self._offset = max(size - self._opening_bytes - 1, 0)
        self._in_a_line = self._offset > 0

    def _bytes(self) -> bytes:
        with open_regular(self._path) as file:
            file.seek(self._offset, os.SEEK_SET)
            return file.read(MOST_BYTES)

    def _lines(self, data: bytes) -> list[bytes]:
        end = data.rfind(b"\n") + 1
        if not end and len(data) == MOST_BYTES:
            end, self._in_a_line = len(data), True
            self._offset += end
            return []
        self._offset += end
        lines = data[:end].split(b"\n")[:-1]
        if lines and self._in_a_line:
            self._in_a_line = False
            lines = lines[1:]
        return lines
