"""What a run folder already holds, so that a resumed run does only what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvtop.experiments.budget import cost_tokens
from kvtop.experiments.calibrate import Calibration
from kvtop.experiments.earlier import Earlier
from kvtop.model.event import Event
from kvtop.model.record import RequestRecord
from kvtop.runs.layout import RunFolder
from kvtop.runs.manifest import Manifest
from kvtop.runs.reader import read_events, read_requests

MEASURED_TAGS = frozenset({"cold", "reused"})
LEFT_OUT = frozenset({"over_context", "length_too_short"})
"""Codes of notes on lengths that no further request will measure."""


def read_earlier(folder: RunFolder, manifest: Manifest) -> Earlier:
    """Return the finished cells, refused lengths, spent tokens and calibration of `folder`.

    A cell is finished when its last request was measured; failed ones are asked again. Requests that
    were announced but have no record (the runner died) still count as sent and as spent: their prompts
    may sit in the server's cache, and their tokens on the bill.
    """
    records = read_requests(folder).records
    events = read_events(folder).events
    announced = [event for event in events if event.type == "cell"]
    return Earlier(
        finished_cells=frozenset(_finished(records)),
        ended_lengths=frozenset((*_ended(records), *_left_out(events))),
        requests_sent=max(len(announced), *_numbers(records), 0),
        spent_tokens=_spent(announced, records),
        calibration=Calibration.from_json(manifest.context),
    )


def _finished(records: Iterable[RequestRecord]) -> list[str]:
    last = {record.cell: record for record in records if record.tag in MEASURED_TAGS}
    return [cell for cell, record in last.items() if record.measured]


def _ended(records: Iterable[RequestRecord]) -> list[int]:
    last = {record.cell: record for record in records}
    return [
        record.target_tokens
        for record in last.values()
        if record.failure is not None and record.failure.code == "context_length" and record.target_tokens
    ]


def _left_out(events: Iterable[Event]) -> list[int]:
    """Return the lengths that an earlier session left out unsent."""
    notes = [event.data for event in events if event.type == "note" and event.data.get("code") in LEFT_OUT]
    lengths = [note.get("target_tokens") for note in notes]
    return [length for length in lengths if isinstance(length, int)]


def _numbers(records: Iterable[RequestRecord]) -> list[int]:
    return [int(record.id) for record in records if record.id.isdecimal()]


def _spent(announced: Sequence[Event], records: Iterable[RequestRecord]) -> int:
    at_most = {str(event.data.get("request")): _at_most(event) for event in announced}
    by_id: dict[str, RequestRecord | None] = {record.id: record for record in records}
    ids = dict.fromkeys((*at_most, *by_id))
    return sum(cost_tokens(by_id.get(request), at_most.get(request, 0)) for request in ids)


def _at_most(event: Event) -> int:
    tokens = event.data.get("at_most_tokens")
    return tokens if isinstance(tokens, int) else 0
