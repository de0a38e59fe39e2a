"""A file that grows by whole lines, whatever happens between two of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

from kvtop.runs.disk import open_private, sync, write_error

_BLOCK = 1 << 16


class LineFile:
    """Appends lines, each with one unbuffered write. Not thread-safe; one writer at a time.

    A line that could be written in part only (full disk) is taken back, or else ended, so that the
    next one starts fresh. A last line that a crash has cut is mended when the file is opened.
    """

    __slots__ = ("_broken", "_fd", "_path")

    def __init__(self, path: Path, header: bytes = b"") -> None:
        """Open `path`, created with `header` when there is nothing in it.

        Raises KvtopError: `disk_full`, `write_failed`.
        """
        self._path = path
        self._broken = False
        self._fd = open_private(path, os.O_RDWR | os.O_APPEND)
        try:
            self._begin(header)
        except BaseException:
            os.close(self._fd)
            raise

    def append(self, line: bytes) -> None:
        """Write `line`, which ends with a newline. Raises KvtopError: `disk_full`, `write_failed`."""
        data = b"\n" + line if self._broken else line
        written = 0
        try:
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError as error:
            self._take_back(written)
            raise write_error(self._path, error) from error
        self._broken = False

    def close(self) -> None:
        """Bring the file to the disk and close it. Raises KvtopError: `disk_full`, `write_failed`."""
        try:
            sync(self._fd)
        except OSError as error:
            raise write_error(self._path, error) from error
        finally:
            os.close(self._fd)

    def _begin(self, header: bytes) -> None:
        try:
            self._mend()
            empty = os.fstat(self._fd).st_size == 0
        except OSError as error:
            raise write_error(self._path, error) from error
        if header and empty:
            self.append(header)

    def _take_back(self, written: int) -> None:
        if not written:
            return
        try:
            os.ftruncate(self._fd, os.fstat(self._fd).st_size - written)
        except OSError:
            self._broken = True

    def _mend(self) -> None:
        size = os.fstat(self._fd).st_size
        tail = self._tail(size)
        if not tail:
            return
        if _is_object(tail):
            os.write(self._fd, b"\n")
        else:
            os.ftruncate(self._fd, size - len(tail))

    def _tail(self, size: int) -> bytes:
        tail = b""
        while len(tail) < size:
            start = max(size - len(tail) - _BLOCK, 0)
            block = os.pread(self._fd, size - len(tail) - start, start)
            before, newline, after = block.rpartition(b"\n")
            tail = (after if newline else before + after) + tail
            if newline or not block:
                break
        return tail


def _is_object(tail: bytes) -> bool:
    try:
        return isinstance(json.loads(tail.decode()), dict)
    except (ValueError, RecursionError):
        return False
