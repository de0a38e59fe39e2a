from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtop.analysis.tables import GPU_COLUMNS, PROCESS_COLUMNS, gpu_table, process_table
from kvtop.runs.columns import GPU_COLUMNS as WRITTEN_GPU_COLUMNS
from kvtop.runs.columns import PROCESS_COLUMNS as WRITTEN_PROCESS_COLUMNS
from tests.analysis.planted import GPU_HEADER, PROCESS_HEADER

GPU_ROW = "1.5,0,GPU-0,1024.500,143771,50,10,300.5,50,1980,0,0.2,nvml"


def lines(*rows: str) -> bytes:
    return ("\n".join(rows) + "\n").encode()


def test_the_columns_are_among_those_that_are_written() -> None:
    assert set(GPU_COLUMNS) <= set(WRITTEN_GPU_COLUMNS)
    assert set(PROCESS_COLUMNS) <= set(WRITTEN_PROCESS_COLUMNS)


def test_rows_have_types_and_come_in_time_order() -> None:
    table = gpu_table(lines(GPU_HEADER, GPU_ROW.replace("1.5", "2.5", 1), GPU_ROW))
    assert table.columns == list(GPU_COLUMNS)
    assert table["ts"].to_list() == [1.5, 2.5]
    assert table["mem_used_mib"].to_list() == [1024.5, 1024.5]
    assert table["uuid"].to_list() == ["GPU-0", "GPU-0"]


def test_an_empty_cell_is_null_and_not_zero() -> None:
    table = process_table(lines(PROCESS_HEADER, "1,42,,engine,,,,psutil"))
    assert table["rss_bytes"].to_list() == [None]
    assert table["uuid"].to_list() == [None]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"ts",
        b"garbage\nmore,garbage\n",
        GPU_HEADER.encode(),
        lines(GPU_HEADER),
        b"\x00\xff\n\x00\n",
    ],
)
def test_nothing_to_read_is_an_empty_table(content: bytes) -> None:
    table = gpu_table(content)
    assert table.is_empty()
    assert table.columns == list(GPU_COLUMNS)
    assert table.schema["ts"] == pl.Float64()


def test_a_cut_last_line_is_skipped() -> None:
    cut = lines(GPU_HEADER, GPU_ROW) + GPU_ROW[:15].encode()
    assert gpu_table(cut).height == 1


@pytest.mark.parametrize(
    "broken", ["1.6,0", "1.6,0,GPU-0,12,x,,,,,,,,nvml,more,more", "", "\x00\x00", '2,0,"open,']
)
def test_a_broken_line_costs_no_other(broken: str) -> None:
    table = gpu_table(lines(GPU_HEADER, GPU_ROW, broken, GPU_ROW.replace("1.5", "1.7", 1)))
    assert [ts for ts in table["ts"] if ts != 1.6] == [1.5, 1.7]


def test_what_is_no_finite_number_is_null() -> None:
    rows = [GPU_ROW.replace("1024.500", value) for value in ("nan", "inf", "-inf", "[N/A]", "1e300", "7")]
    assert gpu_table(lines(GPU_HEADER, *rows))["mem_used_mib"].to_list() == [None] * 5 + [7.0]


def test_a_row_without_time_is_dropped() -> None:
    assert gpu_table(lines(GPU_HEADER, GPU_ROW.replace("1.5", "nan", 1), GPU_HEADER)).is_empty()


def test_a_quoted_name_may_hold_a_comma() -> None:
    table = process_table(lines(PROCESS_HEADER, '1,42,"api, ""one""",engine,,,77,psutil'))
    assert table["rss_bytes"].to_list() == [77.0]


def test_missing_and_unknown_columns_are_no_error() -> None:
    table = gpu_table(lines("uuid,new,ts", "GPU-0,9,3"))
    assert table["ts"].to_list() == [3.0]
    assert table["mem_used_mib"].to_list() == [None]


def test_windows_line_ends_and_byte_order_mark() -> None:
    content = b"\xef\xbb\xbf" + lines(GPU_HEADER, GPU_ROW).replace(b"\n", b"\r\n")
    assert gpu_table(content)["source"].to_list() == ["nvml"]


@given(st.binary(max_size=200), st.integers(0, 5))
def test_no_bytes_raise(garbage: bytes, place: int) -> None:
    good = lines(GPU_HEADER, GPU_ROW, GPU_ROW)
    at = place * len(good) // 5
    gpu_table(good[:at] + garbage + good[at:])


@given(st.lists(st.text(alphabet=',"\r\n0123456789.-enaif\x00', max_size=30), max_size=8))
def test_no_lines_raise(rows: list[str]) -> None:
    table = process_table(lines(PROCESS_HEADER, *rows))
    assert table["ts"].null_count() == 0
