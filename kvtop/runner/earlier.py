"""What a run folder already holds, so that a resumed run does only what is missing."""

from __future__ import annotations

from collections.abc import Iterable

from kvtop.experiments.calibrate import Calibration
from kvtop.experiments.scan import Earlier
from kvtop.model.record import RequestRecord
from kvtop.runs.layout import RunFolder
from kvtop.runs.manifest import Manifest
from kvtop.runs.reader import read_events, read_requests

MEASURED_TAGS = frozenset({"cold", "reused"})


def read_earlier(folder: RunFolder, manifest: Manifest) -> Earlier:
    """Return the finished cells, refused lengths, spent tokens and calibration of `folder`.

    A cell is finished when its last request was measured; failed ones are asked again. Requests that
    were announced but have no record (the runner died) still count as sent: their prompts may sit in
    the server's cache.
    """
    records = read_requests(folder).records
    announced = sum(event.type == "cell" for event in read_events(folder).events)
    return Earlier(
        finished_cells=frozenset(_finished(records)),
        ended_lengths=frozenset(_ended(records)),
        requests_sent=announced,
        spent_tokens=sum((r.prompt_tokens or 0) + (r.completion_tokens or 0) for r in records),
        calibration=Calibration.from_json(manifest.context),
    )


def _last_per_cell(records: Iterable[RequestRecord]) -> dict[str, RequestRecord]:
    return {record.cell: record for record in records if record.tag in MEASURED_TAGS}


def _finished(records: Iterable[RequestRecord]) -> list[str]:
    return [cell for cell, record in _last_per_cell(records).items() if record.measured]


def _ended(records: Iterable[RequestRecord]) -> list[int]:
    return [
        record.target_tokens
        for record in records
        if record.failure is not None and record.failure.code == "context_length" and record.target_tokens
    ]
