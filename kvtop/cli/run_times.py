"""How long the sessions of a run took, told by its events."""

from __future__ import annotations

from collections.abc import Iterable

from kvtop.model.event import Event
from kvtop.model.failure import KvtopError
from kvtop.runs.layout import RunFolder
from kvtop.runs.reader import complete_bytes, parse_event

_BOUNDS = (b'"started"', b'"finished"')


def took_s(folder: RunFolder) -> float | None:
    """Return the seconds from start to end of each session, added up; None where nothing tells them.

    A session that ended without a word counts to its last event. What lies between sessions is not counted.
    """
    try:
        lines = complete_bytes(folder.events_jsonl).splitlines()
    except KvtopError:
        return None
    return _added_up(_bounds(lines))


def _bounds(lines: list[bytes]) -> Iterable[Event]:
    """Yield the first and the last event of each session; the others are not parsed."""
    for index, line in enumerate(lines):
        is_last = index + 1 == len(lines) or _BOUNDS[0] in lines[index + 1]
        if is_last or any(bound in line for bound in _BOUNDS):
            try:
                yield parse_event(line)
            except ValueError:
                continue


def _added_up(events: Iterable[Event]) -> float | None:
    total_s, begun_ts, last_ts = 0.0, None, None
    for event in events:
        if event.type == "started":
            total_s += _between(begun_ts, last_ts)
            begun_ts = event.ts
        last_ts = event.ts
    return None if begun_ts is None else total_s + _between(begun_ts, last_ts)


def _between(begun_ts: float | None, last_ts: float | None) -> float:
    return 0.0 if begun_ts is None or last_ts is None else max(last_ts - begun_ts, 0.0)
