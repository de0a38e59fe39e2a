"""Reads a run folder, live, dead or damaged. Content is never an exception."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from kvtop.model.event import Event, EventType
from kvtop.model.failure import Failure, KvtopError
from kvtop.model.record import RequestRecord
from kvtop.runs.disk import open_regular
from kvtop.runs.foreign import clean_json, finite_number, parse_object, typed_fields
from kvtop.runs.layout import RunFolder

WARNING_LIMIT = 50
"""Warnings kept of one file; the rest is counted."""

_EVENT_TYPES = get_args(EventType)


@dataclass(frozen=True, slots=True)
class RequestLog:
    """The requests of a run, unique by id (the last one wins), in the order they were written."""

    records: tuple[RequestRecord, ...]
    warnings: tuple[str, ...] = ()
    """What was skipped and where, one line each."""


@dataclass(frozen=True, slots=True)
class EventLog:
    """The events of a run in the order they were written."""

    events: tuple[Event, ...]
    warnings: tuple[str, ...] = ()


class LineWarnings:
    """Collects what is wrong with the lines of one file."""

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._texts: list[str] = []
        self._more = 0

    def add(self, number: int, text: str) -> None:
        """Keep a warning about line `number`, counted from 1."""
        if len(self._texts) < WARNING_LIMIT:
            self._texts.append(f"{self._name} line {number}: {text}")
        else:
            self._more += 1

    def texts(self) -> tuple[str, ...]:
        """Return the warnings, with a last line that counts those not kept."""
        more = (f"{self._name}: {self._more} more warnings",) if self._more else ()
        return (*self._texts, *more)


def read_requests(folder: RunFolder) -> RequestLog:
    """Return the requests of `requests.jsonl`; none when it is not there.

    Raises KvtopError `unreadable_run` when the file cannot be opened.
    """
    warnings = LineWarnings(folder.requests_jsonl)
    records: dict[str, RequestRecord] = {}
    for number, line in _lines(folder.requests_jsonl, warnings):
        try:
            record, dropped = _parse_request(line)
        except ValueError as error:
            warnings.add(number, f"{error}; skipped")
            continue
        for name in dropped:
            warnings.add(number, f"`{name}` has a wrong type; taken as not reported")
        records.pop(record.id, None)
        records[record.id] = record
    return RequestLog(tuple(records.values()), warnings.texts())


def read_events(folder: RunFolder) -> EventLog:
    """Return the events of `events.jsonl`; none when it is not there.

    Raises KvtopError `unreadable_run` when the file cannot be opened.
    """
    warnings = LineWarnings(folder.events_jsonl)
    events = []
    for number, line in _lines(folder.events_jsonl, warnings):
        try:
            events.append(parse_event(line))
        except ValueError as error:
            warnings.add(number, f"{error}; skipped")
    return EventLog(tuple(events), warnings.texts())


def read_findings(folder: RunFolder) -> dict[str, Any] | None:
    """Return `findings.json`, None when it is not there or not a JSON object.

    Raises KvtopError `unreadable_run` when the file cannot be opened.
    """
    try:
        document: dict[str, Any] = clean_json(parse_object(_read(folder.findings_json)))
    except ValueError:
        return None
    return document


def complete_bytes(path: Path) -> bytes:
    """Return the whole lines of a file that may be growing or cut: all up to the last newline.

    Empty when the file is not there. Raises KvtopError `unreadable_run` when it cannot be opened.
    """
    data = _read(path)
    return data[: data.rfind(b"\n") + 1]


def parse_event(line: bytes) -> Event:
    """Return the event in `line`. Raises ValueError saying what is wrong with it."""
    data = parse_object(line)
    if data.get("type") not in _EVENT_TYPES:
        raise ValueError("it is no event that this kvtop knows")
    return Event.from_json({**data, "ts": finite_number(data.get("ts"))})


def _parse_request(line: bytes) -> tuple[RequestRecord, list[str]]:
    values, dropped = typed_fields(RequestRecord, parse_object(line))
    return RequestRecord(**values), dropped


def _lines(path: Path, warnings: LineWarnings) -> Iterator[tuple[int, bytes]]:
    lines = _read(path).split(b"\n")
    cut = lines.pop()
    for number, line in enumerate(lines, 1):
        if line:
            yield number, line
    if cut:
        warnings.add(len(lines) + 1, "it is cut off; skipped")


def _read(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            return file.read()
    except FileNotFoundError:
        return b""
    except OSError as error:
        text = f"Cannot read {path}: {error.strerror or error}."
        raise KvtopError(Failure.of("unreadable_run", text, "Check its owner and permissions.")) from error
