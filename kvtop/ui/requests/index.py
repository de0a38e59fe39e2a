"""Rows of a `requests.jsonl` on disk: where each line is, found from the end; lines are read when drawn."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING, Any

from kvtop.model.failure import Failure
from kvtop.model.record import RequestRecord
from kvtop.runs.disk import open_regular
from kvtop.runs.foreign import parse_object, typed_fields
from kvtop.ui.requests.line_places import LinePlaces, head_of, key_of, read_at
from kvtop.ui.requests.log_row import LogRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from kvtop.ui.requests.filter import RequestFilter

CHUNK_BYTES = 1 << 18
"""What is read at a time: about a millisecond of work."""
KEPT_ROWS = 1024
"""Parsed rows kept in memory."""
LONGEST_LINE = 16 << 20
"""A longer line, in bytes, is shown as unreadable."""

_SPAN_BYTES = 1 << 21
"""Rows that lie so close are read at once."""


class FileIndex:
    """The lines of one file, unique by id (the last one counts). Safe to use from several threads.

    A file that is not there has no rows.
    """

    def __init__(self, path: Path, run_id: str = "") -> None:
        self.path = path
        self.run_id = run_id
        self._lock = Lock()
        self._older = LinePlaces()
        self._newer = LinePlaces()
        self._keys: set[int] = set()
        self._file_id: tuple[int, int] | None = None
        self._unread_bytes: int | None = None
        self._line_end: int | None = None
        self._newer_from = 0
        self._rows: OrderedDict[int, LogRow] = OrderedDict()
        self.complete = False
        """Whether the beginning of the file was reached, or cannot be."""
        self.outdated = False
        """Whether the file was replaced or cut, or names an id again: open it anew."""
        self.failure: Failure | None = None
        """Why the file cannot be read."""

    @property
    def span(self) -> range:
        """The numbers of all rows found so far."""
        return range(-len(self._older), len(self._newer))

    def read_older(self) -> bool:
        """Find the rows of the next chunk towards the beginning. Return whether there is more."""
        try:
            with self._lock, self._opened() as file:
                self._step_back(file)
        except FileNotFoundError:
            self.complete = True
        except OSError as error:
            self._failed(error)
        return not self.complete

    def read_newer(self) -> bool:
        """Find rows that were added since. Return whether there were some."""
        before = len(self._newer)
        if self._line_end is None and not self.complete:
            return False
        try:
            with self._lock, self._opened() as file:
                while not self.outdated and self._step_on(file):
                    pass
        except FileNotFoundError:
            self.outdated = self._file_id is not None
        except OSError as error:
            self._failed(error)
        return len(self._newer) > before

    def row(self, number: int) -> LogRow | None:
        """Return a row that was loaded and not yet forgotten."""
        return self._rows.get(number)

    def load(self, numbers: Sequence[int]) -> None:
        """Read and parse rows. A row that cannot be read says why."""
        missing = [number for number in numbers if number not in self._rows]
        try:
            for number, line in self._lines(missing):
                self._rows[number] = _parsed(line, self.run_id)
        except OSError as error:
            row = LogRow(None, self.run_id, f"it cannot be read: {error.strerror or error}")
            self._rows.update((number, row) for number in missing if number not in self._rows)
        while len(self._rows) > max(KEPT_ROWS, 2 * len(numbers)):
            self._rows.popitem(last=False)

    def matching(self, numbers: Iterable[int], wanted: RequestFilter) -> list[int]:
        """Return those of `numbers` whose rows match; a line that is no JSON object never does."""
        try:
            return [
                number
                for number, line in self._lines(list(numbers))
                if wanted.may_match(line) and _matches(line, wanted, self.run_id)
            ]
        except OSError as error:
            self._failed(error)
            return []

    def _opened(self) -> BinaryIO:
        """Open the file, and see whether it is still the same one. Raises OSError."""
        file = open_regular(self.path)
        status = os.fstat(file.fileno())
        file_id = (status.st_dev, status.st_ino)
        if self._file_id is None:
            self._file_id, self._unread_bytes = file_id, status.st_size
        if file_id != self._file_id or status.st_size < self._newer_from:
            self.outdated = self.complete = True
        return file

    def _failed(self, error: OSError) -> None:
        text = f"Cannot read {self.path}: {error.strerror or error}."
        self.failure = Failure.of("unreadable_run", text, "Check its owner and permissions.")
        self.complete = True

    def _step_back(self, file: BinaryIO) -> None:
        end = self._unread_bytes or 0
        start = max(end - CHUNK_BYTES, 0)
        if self.complete:
            return
        pieces = read_at(file, start, end - start).split(b"\n")
        begins = list(accumulate((len(piece) + 1 for piece in pieces[:-1]), initial=start))
        ends: list[int | None] = [b + len(p) for b, p in zip(begins, pieces, strict=True)]
        ends[-1] = self._line_end
        if self._line_end is None and (len(pieces) > 1 or start == 0):
            self._newer_from = begins[-1]
        first = 0 if start == 0 else 1
        lines = zip(begins[first:], ends[first:], pieces[first:], strict=True)
        self._add_older([(b, e - b, head_of(file, b, e, p)) for b, e, p in lines if e is not None and e > b])
        self._line_end, self._unread_bytes, self.complete = ends[0], start, start == 0

    def _add_older(self, lines: list[tuple[int, int, bytes]]) -> None:
        """Take lines in the order of the file. One whose id stands further on is left out."""
        lines.reverse()
        keys = [key_of(head) for _, _, head in lines]
        if None in keys or len(set(keys)) < len(keys) or not self._keys.isdisjoint(keys):
            lines = [line for line, key in zip(lines, keys, strict=True) if self._is_new(key)]
        else:
            self._keys.update(key for key in keys if key is not None)
        self._older.extend(lines)

    def _is_new(self, key: int | None) -> bool:
        if key is None:
            return True
        known = key in self._keys
        self._keys.add(key)
        return not known

    def _step_on(self, file: BinaryIO) -> bool:
        """Take whole lines from where the last ended. Return whether there were some."""
        start = self._newer_from
        data = read_at(file, start, CHUNK_BYTES)
        if len(data) == CHUNK_BYTES and b"\n" not in data:
            data = read_at(file, start, LONGEST_LINE)
        pieces = data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]
        begins = accumulate((len(piece) + 1 for piece in pieces), initial=start)
        lines = [(b, len(p), p) for b, p in zip(begins, pieces, strict=False) if p]
        if not all(self._is_new(key_of(piece)) for piece in pieces if piece):
            self.outdated = True
            return False
        self._newer_from += sum(len(piece) + 1 for piece in pieces)
        self._newer.extend(lines)
        return bool(pieces)

    def _lines(self, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the lines of rows, whose numbers ascend. Raises OSError."""
        if not numbers:
            return
        with open_regular(self.path) as file:
            for block in self._blocks(numbers):
                yield from self._block(file, block)

    def _blocks(self, numbers: Sequence[int]) -> Iterator[Sequence[int]]:
        """Cut ascending numbers into runs that can be read at once."""
        (first, _), (last, length) = self._place(numbers[0]), self._place(numbers[-1])
        if len(numbers) == 1 or 0 <= last + length - first <= _SPAN_BYTES:
            yield numbers
            return
        half = len(numbers) // 2
        yield from self._blocks(numbers[:half])
        yield from self._blocks(numbers[half:])

    def _block(self, file: BinaryIO, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        places = [self._place(number) for number in numbers]
        base = places[0][0]
        size = places[-1][0] + places[-1][1] - base
        data = read_at(file, base, size) if size <= LONGEST_LINE else b""
        for number, (start, length) in zip(numbers, places, strict=True):
            yield number, data[start - base : start - base + length]

    def _place(self, number: int) -> tuple[int, int]:
        return self._older[-1 - number] if number < 0 else self._newer[number]


def _parsed(line: bytes, run_id: str) -> LogRow:
    try:
        return LogRow(RequestRecord(**typed_fields(RequestRecord, parse_object(line))[0]), run_id)
    except ValueError as error:
        return LogRow(None, run_id, str(error))


def _matches(line: bytes, wanted: RequestFilter, run_id: str) -> bool:
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError):
        return False
    if not isinstance(data, dict):
        return False
    data["run_id"] = run_id
    return wanted.matches(data.get)
