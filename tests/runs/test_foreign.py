from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtop.model.failure import Failure
from kvtop.model.record import RequestRecord
from kvtop.runs.foreign import TEXT_LIMIT, clean_json, parse_object, safe_text, typed_fields
from kvtop.runs.manifest import Manifest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.items() for part in item for text in strings(part)]
    return [text for item in value for text in strings(item)] if isinstance(value, list) else []


def test_text_that_can_be_shown_stays_as_it_is() -> None:
    assert safe_text("/models/two  spaces/模型.gguf") == "/models/two  spaces/模型.gguf"


def test_text_that_cannot_be_shown_is_cleaned_and_bounded() -> None:
    assert safe_text("a\x1b[31mb\nc\u202ed") == "ab cd"
    assert len(safe_text("x" * (TEXT_LIMIT + 1))) == TEXT_LIMIT


@given(JSON)
def test_what_is_cleaned_is_json_and_safe_to_show(value: Any) -> None:
    cleaned = clean_json(value)
    json.dumps(cleaned, allow_nan=False)
    assert not any(category in text for text in strings(cleaned) for category in "\x1b\x00\n\x9b\u202e")


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_an_object_is_read_clean_however_it_was_escaped(document: dict[str, Any]) -> None:
    for escaped in (True, False):
        line = json.dumps(document, ensure_ascii=escaped).encode("utf-8", "replace")
        parsed = parse_object(line)
        json.dumps(parsed, allow_nan=False)
        assert not any("\x1b" in text or "\x9b" in text for text in strings(parsed))


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[1]", b'"text"', b"null", b"1", b"\x00" * 20, b"\xff\xfe{}", b'{"a":' * 5000, b"9" * 5000],
)
def test_what_is_no_object_is_told_so(line: bytes) -> None:
    with pytest.raises(ValueError, match="it is not"):
        parse_object(line)


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "-1E400", "9" * 25, "1" * 400 + ".0"]
)
def test_numbers_beyond_reach_are_unknown(number: str) -> None:
    assert parse_object(b'{"a":%s,"b":1}' % number.encode()) == {"a": None, "b": 1}


def test_depth_is_bounded() -> None:
    parsed = parse_object(b'{"a":' * 200 + b'"\\n"' + b"}" * 200)
    assert json.dumps(parsed).count("{") < 50


MINIMAL = {"id": "r", "cell": "", "tag": "cold", "ts": 1, "end_ts": 2.5, "dialect": "d", "model": "m"}


def test_fields_of_the_right_type_are_taken() -> None:
    values, dropped = typed_fields(RequestRecord, {**MINIMAL, "status": 200, "notes": ["a"], "new": 1})
    assert values == {**MINIMAL, "ts": 1.0, "status": 200, "notes": ("a",)}
    assert isinstance(values["ts"], float)
    assert not dropped


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("prompt_tokens", "4096"),
        ("prompt_tokens", 4096.5),
        ("prompt_tokens", True),
        ("ttft_s", "fast"),
        ("ttft_s", False),
        ("ttft_s", [1]),
        ("ttft_s", 10**400),
        ("ttft_s", float("inf")),
        ("finish_reason", 1),
        ("failure", "truncated"),
        ("usage_raw", [1]),
        ("headers", "x"),
        ("notes", "abc"),
        ("notes", [1]),
    ],
)
def test_an_optional_field_of_a_wrong_type_is_dropped_and_named(name: str, value: Any) -> None:
    values, dropped = typed_fields(RequestRecord, {**MINIMAL, name: value})
    assert name not in values
    assert dropped == [name]


@pytest.mark.parametrize("name", list(MINIMAL))
def test_a_required_field_must_be_there_and_right(name: str) -> None:
    with pytest.raises(ValueError, match=f"`{name}` is missing"):
        typed_fields(RequestRecord, {**MINIMAL, name: None})
    with pytest.raises(ValueError, match=f"`{name}` has a wrong type"):
        typed_fields(RequestRecord, {**MINIMAL, name: [1]})


def test_words_of_a_choice_are_checked() -> None:
    table = {"kind": "scan", "created_ts": 1.0, "path": "local", "state": "sleeping"}
    with pytest.raises(ValueError, match="`state` has a wrong type"):
        typed_fields(Manifest, table)


def test_a_failure_keeps_what_fits() -> None:
    failure = {"code": "rate_limit", "text": "Slow down.", "status": "429", "retry_after_s": 3, "new": 1}
    values, dropped = typed_fields(RequestRecord, {**MINIMAL, "failure": failure})
    assert values["failure"] == Failure("rate_limit", "Slow down.", retry_after_s=3.0)
    assert not dropped
