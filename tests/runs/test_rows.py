from __future__ import annotations

import csv
import io
import json
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtop.model.reading import GpuDevice, GpuReading
from kvtop.model.record import RequestRecord
from kvtop.model.secret import Secret
from kvtop.runs.columns import ENGINE_COLUMNS, GPU_COLUMNS, PROCESS_COLUMNS, REQUEST_COLUMNS
from kvtop.runs.rows import csv_line, gpu_line, json_line, process_line, request_line
from tests.runs.samples import GPU, PROCESS, RECORD, TS, UUID, failed, record


def cells(line: bytes, columns: tuple[str, ...]) -> dict[str, str]:
    text = line.decode()
    assert text.endswith("\n")
    (row,) = csv.reader(io.StringIO(text, newline=""))
    return dict(zip(columns, row, strict=True))


def test_columns_are_those_of_the_contract() -> None:
    assert ",".join(GPU_COLUMNS) == (
        "ts,gpu,uuid,mem_used_mib,mem_total_mib,util_pct,mem_bw_util_pct,power_w,temp_c,sm_clock_mhz,"
        "throttle_reasons,late_ms,source"
    )
    assert ",".join(PROCESS_COLUMNS) == "ts,pid,name,kind,uuid,gpu_mem_bytes,rss_bytes,source"
    assert ",".join(ENGINE_COLUMNS) == (
        "ts,engine,rank,kv_used_tokens,kv_capacity_tokens,kv_used_bytes,kv_usage,running,waiting,"
        "cache_queries,cache_hits,preemptions,origin"
    )
    assert ",".join(REQUEST_COLUMNS) == (
        "ts,end_ts,id,cell,tag,level,setting,repeat,prefix,dialect,model,scheduled_ts,target_tokens,"
        "prompt_tokens,completion_tokens,cached_tokens,cache_write_tokens,reasoning_tokens,usage_source,"
        "connect_s,ttft_s,ttft_answer_s,latency_s,decode_tok_s,e2e_tok_s,finish_reason,status,failure,"
        "retry_after_s"
    )


def test_every_request_column_is_a_field_of_the_record() -> None:
    assert set(REQUEST_COLUMNS) <= {field.name for field in fields(RequestRecord)}


def test_a_gpu_row_has_its_units() -> None:
    line = gpu_line(GPU)
    assert (
        line
        == (f"1764600000.25,0,{UUID},100612.640,143771.000,87.0,,612.4,61.0,1980,4,1.234,nvml\n").encode()
    )


def test_what_a_gpu_does_not_tell_is_empty_and_not_zero() -> None:
    row = cells(gpu_line(GpuReading(TS, GpuDevice(3, UUID, "x"))), GPU_COLUMNS)
    told = {"ts": "1764600000.25", "gpu": "3", "uuid": UUID, "late_ms": "0.000", "source": "nvml"}
    assert {name: cell for name, cell in row.items() if cell} == told


def test_zero_is_zero() -> None:
    row = cells(gpu_line(replace(GPU, mem_used_bytes=0, util_pct=0.0)), GPU_COLUMNS)
    assert (row["mem_used_mib"], row["util_pct"]) == ("0.000", "0.0")


def test_a_process_row_is_in_bytes() -> None:
    assert process_line(PROCESS) == b"1764600000.25,4242,llama-server,engine,,,3221225472,psutil\n"


def test_a_process_name_cannot_break_the_row() -> None:
    name = 'evil,"\n\x1b[31mname\ud800'
    row = cells(process_line(replace(PROCESS, name=name)), PROCESS_COLUMNS)
    assert row["name"] == 'evil," name'


def test_a_request_row_names_its_failure_by_code() -> None:
    assert cells(request_line(failed("r2")), REQUEST_COLUMNS)["failure"] == "truncated"
    assert cells(request_line(RECORD), REQUEST_COLUMNS)["failure"] == ""


def test_a_request_row_holds_the_record_exactly() -> None:
    row = cells(request_line(record("r2", ttft_s=0.1 + 0.2)), REQUEST_COLUMNS)
    assert float(row["ttft_s"]) == 0.1 + 0.2
    assert (row["cached_tokens"], row["reasoning_tokens"], row["model"]) == ("0", "", "Qwen/Qwen3-8B")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_empty(value: float) -> None:
    assert csv_line((value, 1.5)) == b",1.5\n"
    assert json_line({"a": [value], "b": 1.5}) == b'{"a":[null],"b":1.5}\n'


@given(st.lists(st.text(max_size=20), min_size=2, max_size=6))
def test_any_text_makes_one_line_that_csv_reads_back(texts: list[str]) -> None:
    line = csv_line(texts)
    assert line.count(b"\n") == 1
    (row,) = csv.reader(io.StringIO(line.decode(), newline=""))
    assert len(row) == len(texts)
    assert all(got == text for got, text in zip(row, texts, strict=True) if text.isprintable())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_any_document_makes_one_line_of_strict_json(document: dict[str, Any]) -> None:
    line = json_line(document)
    assert line.count(b"\n") == 1

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    json.loads(line, parse_constant=refuse)


def test_text_is_kept_whole_and_legible_in_json() -> None:
    body = "行\n" * 5000
    assert json.loads(json_line({"body": body, "odd": float("nan")})) == {"body": body, "odd": None}
    assert "行".encode() in json_line({"body": body})


def test_values_that_json_does_not_know_are_written_all_the_same() -> None:
    document = {"headers": MappingProxyType({"a": "b"}), "key": Secret("sk-0123456789"), 7: (1, 2)}
    written = json.loads(json_line(document))  # type: ignore[arg-type]  # a foreign key, on purpose
    assert written == {"headers": {"a": "b"}, "key": "••••", "7": [1, 2]}


def test_depth_beyond_the_encoder_is_cut() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert "…" in json_line(deep).decode()
