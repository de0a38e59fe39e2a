"""The requests of one run as they are written, the newest of a long log first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtop.model.record import RequestRecord
from kvtop.runs.foreign import parse_object, typed_fields
from kvtop.ui.feeds.line_tail import LineTail

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kvtop.runs.layout import RunFolder

FIRST_BYTES = 256 << 10
"""What of a long log is read before anything is shown."""
KEPT_BYTES = 4 << 20
KEPT_REQUESTS = 5000
"""Requests of one log that are told at once, the newest; all of them are in the run folder."""


@dataclass(frozen=True, slots=True)
class News:
    """Requests in the order they were written, unique by id."""

    records: tuple[RequestRecord, ...]
    replace: bool
    """Whether these are all there are, instead of the next ones."""
    more: bool = False
    """Whether there is more to read at once."""


class RequestTail:
    """Follows `requests.jsonl`. What is no request is skipped; when an id comes again the last one counts."""

    def __init__(self, folder: RunFolder) -> None:
        self._path = folder.requests_jsonl
        self._tail = LineTail(self._path, FIRST_BYTES)
        self._is_first_look = True
        self._ids: set[str] = set()

    def read(self) -> News | None:
        """Return what is new, None when nothing is. Raises KvtopError `unreadable_run`."""
        added = self._tail.read()
        if added.restarted:
            return self._whole(added.lines, skipped=added.skipped, more=added.more)
        records = _records(added.lines)
        if not self._ids.isdisjoint(records):
            self._tail = LineTail(self._path, KEPT_BYTES)
            return self.read()
        self._ids.update(records)
        return News(tuple(records.values()), replace=False, more=added.more) if records else None

    def _whole(self, lines: Sequence[bytes], *, skipped: bool, more: bool) -> News:
        records = _records(lines[-KEPT_REQUESTS:])
        self._ids = set(records)
        if skipped and self._is_first_look:
            self._is_first_look, more = False, True
            self._tail = LineTail(self._path, KEPT_BYTES)
        return News(tuple(records.values()), replace=True, more=more)


def _records(lines: Iterable[bytes]) -> dict[str, RequestRecord]:
    records: dict[str, RequestRecord] = {}
    for line in lines:
        try:
            record = RequestRecord(**typed_fields(RequestRecord, parse_object(line))[0])
        except ValueError:
            continue
        records.pop(record.id, None)
        records[record.id] = record
    return records
