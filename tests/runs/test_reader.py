from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvtop.model.failure import Failure, KvtopError
from kvtop.model.record import RequestRecord
from kvtop.runs.reader import (
    WARNING_LIMIT,
    complete_bytes,
    parse_event,
    read_events,
    read_findings,
    read_requests,
)
from kvtop.runs.rows import json_line
from tests.runs.samples import RECORD, event, failed, record

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtop.runs.layout import RunFolder

ON_DISK = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
SHOWN = st.characters(exclude_categories=("C", "Z")) | st.just(" ")
TEXT = st.text(SHOWN, max_size=20)
COUNT = st.none() | st.integers(0, 2**62)
NUMBER = st.none() | st.floats(allow_nan=False, allow_infinity=False)
TABLE = st.dictionaries(TEXT, TEXT | st.integers(-9, 9) | st.booleans() | st.none(), max_size=3)
KNOWN_TS = st.floats(0, 4e9)
FAILURE = st.builds(
    Failure, TEXT.filter(bool), TEXT, TEXT, st.none() | st.integers(100, 599), NUMBER, COUNT, COUNT
)
BY_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "str": TEXT,
    "float": KNOWN_TS,
    "int | None": COUNT,
    "float | None": NUMBER,
    "str | None": st.none() | TEXT,
    "Failure | None": st.none() | FAILURE,
    "Mapping[str, Any]": TABLE,
    "Mapping[str, str]": st.dictionaries(TEXT, TEXT, max_size=3),
    "tuple[str, ...]": st.lists(TEXT, max_size=3).map(tuple),
}
RECORDS = st.builds(
    RequestRecord, **{field.name: BY_TYPE[str(field.type)] for field in fields(RequestRecord)}
)


@given(st.lists(RECORDS, max_size=3, unique_by=lambda entry: entry.id))
@ON_DISK
def test_any_record_survives_the_disk(folder: RunFolder, records: list[RequestRecord]) -> None:
    folder.requests_jsonl.write_bytes(b"".join(json_line(entry.to_json()) for entry in records))
    log = read_requests(folder)
    assert log.records == tuple(records)
    assert not log.warnings


@given(st.binary(max_size=200))
@ON_DISK
def test_any_bytes_are_read_without_an_error(folder: RunFolder, data: bytes) -> None:
    for path in (folder.requests_jsonl, folder.events_jsonl, folder.findings_json):
        path.write_bytes(data)
    assert not read_requests(folder).records
    assert not read_events(folder).events
    read_findings(folder)


@given(
    st.dictionaries(st.sampled_from([field.name for field in fields(RequestRecord)]), TABLE | TEXT | COUNT)
)
@ON_DISK
def test_any_values_are_read_without_an_error(folder: RunFolder, changes: dict[str, Any]) -> None:
    folder.requests_jsonl.write_bytes(json_line({**RECORD.to_json(), **changes}))
    read_requests(folder)


def test_files_that_are_not_there_hold_nothing(folder: RunFolder) -> None:
    assert read_requests(folder).records == ()
    assert read_events(folder).events == ()
    assert read_findings(folder) is None
    assert complete_bytes(folder.gpu_csv) == b""


def test_the_last_record_of_an_id_wins(folder: RunFolder) -> None:
    lines = [failed("a"), record("b"), record("a")]
    folder.requests_jsonl.write_bytes(b"".join(json_line(entry.to_json()) for entry in lines))
    assert read_requests(folder).records == (record("b"), record("a"))


def test_bad_lines_are_skipped_and_named(folder: RunFolder) -> None:
    good = json_line(RECORD.to_json())
    folder.requests_jsonl.write_bytes(
        b"garbage\n" + good + b"[1]\n\n" + b'{"id":"x"}\n' + b"\x00" * 9 + b"\n" + good[:40]
    )
    log = read_requests(folder)
    assert log.records == (RECORD,)
    assert log.warnings == (
        "requests.jsonl line 1: it is not JSON; skipped",
        "requests.jsonl line 3: it is not a JSON object; skipped",
        "requests.jsonl line 5: `cell` is missing; skipped",
        "requests.jsonl line 6: it is not JSON; skipped",
        "requests.jsonl line 7: it is cut off; skipped",
    )


def test_an_optional_value_of_a_wrong_type_is_unknown_and_named(folder: RunFolder) -> None:
    folder.requests_jsonl.write_bytes(json_line({**RECORD.to_json(), "prompt_tokens": "4101"}))
    log = read_requests(folder)
    assert log.records == (record("r1", prompt_tokens=None),)
    assert log.warnings == ("requests.jsonl line 1: `prompt_tokens` has a wrong type; taken as not reported",)


def test_warnings_are_bounded_and_counted(folder: RunFolder) -> None:
    folder.requests_jsonl.write_bytes(b"x\n" * (WARNING_LIMIT + 20))
    warnings = read_requests(folder).warnings
    assert len(warnings) == WARNING_LIMIT + 1
    assert warnings[-1] == "requests.jsonl: 20 more warnings"


def test_foreign_text_is_cleaned(folder: RunFolder) -> None:
    folder.requests_jsonl.write_bytes(json_line({**RECORD.to_json(), "model": "\x1b]0;x\x07m\nn"}))
    assert read_requests(folder).records[0].model == "m n"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b'{"ts":1}', "no event"),
        (b'{"type":"cell"}', "wrong type"),
        (b'{"ts":"now","type":"cell"}', "wrong type"),
        (b'{"ts":true,"type":"cell"}', "wrong type"),
        (b'{"ts":NaN,"type":"cell"}', "wrong type"),
        (b'{"ts":1,"type":"invented"}', "no event"),
        (b'{"ts":1,"type":["cell"]}', "no event"),
        (b"", "not JSON"),
    ],
)
def test_what_is_no_event_is_told_so(line: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_event(line)


def test_events_are_read_in_order_with_warnings(folder: RunFolder) -> None:
    events = [event("started", run="r"), event("finished", state="done")]
    first, second = (json_line(entry.to_json()) for entry in events)
    folder.events_jsonl.write_bytes(first + b"?\n" + second + b'{"ts"')
    log = read_events(folder)
    assert log.events == tuple(events)
    assert log.warnings == (
        "events.jsonl line 2: it is not JSON; skipped",
        "events.jsonl line 4: it is cut off; skipped",
    )


@pytest.mark.parametrize(
    ("content", "whole"), [(b"", b""), (b"a", b""), (b"a\n", b"a\n"), (b"a\nb", b"a\n"), (b"\n\n", b"\n\n")]
)
def test_only_whole_lines_are_complete(folder: RunFolder, content: bytes, whole: bytes) -> None:
    folder.gpu_csv.write_bytes(content)
    assert complete_bytes(folder.gpu_csv) == whole


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"null"])
def test_damaged_findings_are_no_findings(folder: RunFolder, content: bytes) -> None:
    folder.findings_json.write_bytes(content)
    assert read_findings(folder) is None


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, endless])
def test_what_is_no_file_is_told_and_not_read(folder: RunFolder, make: Callable[[Path], None]) -> None:
    make(folder.requests_jsonl)
    with pytest.raises(KvtopError) as caught:
        read_requests(folder)
    assert caught.value.failure.code == "unreadable_run"
