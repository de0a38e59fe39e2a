from __future__ import annotations

import pytest

from kvtop.runs.counting import count_requests
from kvtop.runs.rows import json_line
from tests.runs.samples import failed, record

OK, FAILED = (json_line(entry.to_json()) for entry in (record("a"), failed("a")))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", (0, 0)),
        (OK, (1, 0)),
        (FAILED, (1, 1)),
        (OK + json_line(failed("b").to_json()), (2, 1)),
        (FAILED + OK, (1, 0)),
        (OK + FAILED, (1, 1)),
        (OK[:-20] + b"\n", (0, 0)),
        (b"garbage\n\n[1]\n{}\n" + OK, (1, 0)),
        (b'{"tag":"cold","id":"a"}\n', (1, 0)),
        (b'{"failure":{"code":"x"},"id":"a"}\n', (1, 1)),
        (b'{"id":7,"failure":{}}\n', (0, 0)),
        (b'{"id":"\xff","cell":""}\n', (1, 0)),
    ],
)
def test_requests_are_counted_once_with_their_last_outcome(data: bytes, expected: tuple[int, int]) -> None:
    assert count_requests(data) == expected


def test_a_server_that_reports_a_failure_in_its_usage_has_not_failed() -> None:
    entry = record("a", usage_raw={"failure": {"code": "x"}}, headers={'"failure":': "{}"})
    assert count_requests(json_line(entry.to_json())) == (1, 0)


def test_an_id_with_a_quote_is_one_id_however_it_is_found() -> None:
    entry = record('say "hi"\\')
    assert count_requests(json_line(entry.to_json()) * 2) == (1, 0)
