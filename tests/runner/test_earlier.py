from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kvtop.model.event import Event
from kvtop.model.failure import Failure
from kvtop.model.record import RequestRecord
from kvtop.runner.earlier import read_earlier
from kvtop.runs.layout import RunFolder, create_run_folder
from kvtop.runs.manifest import Manifest
from kvtop.runs.writer import RunWriter

MANIFEST = Manifest(kind="scan", state="running", created_ts=1.0, path="api")
TOO_LONG = Failure("context_length", "Too long.", status=400)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return create_run_folder(tmp_path, "scan", "m", 1764600000.0)


def record(number: int, cell: str, tag: str = "cold", **changes: Any) -> RequestRecord:
    target = int(cell.partition("/")[0]) if tag != "calibrate" else None
    known: dict[str, Any] = {"prompt_tokens": 400, "completion_tokens": 4, "status": 200, **changes}
    return RequestRecord(
        f"{number:05d}", cell, tag, 1.0, 2.0, "openai-chat", "m", target_tokens=target, max_tokens=4, **known
    )


def written(folder: RunFolder, *records: RequestRecord, only_announced: int = 0) -> None:
    with RunWriter(folder) as writer:
        for entry in records:
            announcement = {"cell": entry.cell, "request": entry.id, "at_most_tokens": 404}
            writer.event(Event(1.0, "cell", announcement))
            writer.request(entry)
        for number in range(only_announced):
            request = f"{len(records) + number + 1:05d}"
            writer.event(Event(1.0, "cell", {"cell": "x", "request": request, "at_most_tokens": 404}))


def test_measured_cells_are_finished_failed_and_primed_ones_are_not(folder: RunFolder) -> None:
    failure = Failure("truncated", "Cut.")
    written(
        folder,
        record(1, "calibrate/0", "calibrate"),
        record(2, "400/cold/1"),
        record(3, "400/cold/2", failure=failure),
        record(4, "400/reused/1", "prime"),
    )
    assert set(read_earlier(folder, MANIFEST).finished_cells) == {"400/cold/1"}


def test_a_cell_counts_by_its_last_request(folder: RunFolder) -> None:
    failure = Failure("truncated", "Cut.")
    written(folder, record(1, "400/cold/1", failure=failure), record(2, "400/cold/1"))
    assert set(read_earlier(folder, MANIFEST).finished_cells) == {"400/cold/1"}


def test_a_request_that_was_only_announced_counts_as_sent_and_as_spent(folder: RunFolder) -> None:
    written(folder, record(1, "400/cold/1"), only_announced=1)
    earlier = read_earlier(folder, MANIFEST)
    assert earlier.requests_sent == 2
    assert earlier.spent_tokens == 404 + 404


def test_tokens_of_requests_without_usage_count_as_asked_for(folder: RunFolder) -> None:
    cut = record(1, "400/cold/1", prompt_tokens=None, failure=Failure("truncated", "Cut."))
    refused = replace(cut, id="00002", status=429, failure=Failure("rate_limited", "Wait."))
    written(folder, cut, refused)
    assert read_earlier(folder, MANIFEST).spent_tokens == 404


def test_a_length_has_ended_when_its_last_answer_says_too_long(folder: RunFolder) -> None:
    written(
        folder,
        record(1, "900/cold/1", failure=TOO_LONG),
        record(2, "900/cold/1"),
        record(3, "2000/cold/1", failure=TOO_LONG),
        record(4, "3000/reused/1", "prime", failure=TOO_LONG),
    )
    assert set(read_earlier(folder, MANIFEST).ended_lengths) == {2000, 3000}


def test_the_calibration_comes_from_the_manifest(folder: RunFolder) -> None:
    context = {"tokens_per_word": 1.5, "template_tokens": 40.0, "weight": 9.0, "answer_tokens": 64}
    earlier = read_earlier(folder, replace(MANIFEST, context=context))
    assert earlier.calibration is not None
    assert earlier.calibration.tokens_per_word == 1.5
    assert read_earlier(folder, MANIFEST).calibration is None


def test_an_empty_folder_leaves_everything_to_do(folder: RunFolder) -> None:
    earlier = read_earlier(folder, MANIFEST)
    assert (earlier.requests_sent, earlier.spent_tokens) == (0, 0)


@pytest.mark.parametrize("code", ["over_context", "length_too_short"])
def test_lengths_that_were_left_out_unsent_are_not_missing(folder: RunFolder, code: str) -> None:
    written(folder, record(1, "400/cold/1"))
    with RunWriter(folder, resume=True) as writer:
        writer.event(Event(1.0, "note", {"code": code, "text": "Left out.", "target_tokens": 9000}))
        writer.event(Event(1.0, "note", {"code": code, "text": "Odd.", "target_tokens": "many"}))
        writer.event(Event(1.0, "note", {"code": "waiting", "text": "Wait.", "target_tokens": 400}))
    assert set(read_earlier(folder, MANIFEST).ended_lengths) == {9000}
