"""Lines as nvidia-smi prints them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtop.telemetry.gpu.smi_rows import FIELDS, OLDER_NAMES, SmiRow, parse_line, unknown_field

MIB = 2**20
HEAD = "2026/11/30 11:37:40.983, 8, 3, GPU-8fe3a97d-51f6-a669-0d80-b4530b81b816, 00000000:5D:00.0"
H200 = f"{HEAD}, 130000, 143771, 100, 41, 698.75, 61, 1980, 0x0000000000000004, NVIDIA H200"
WORDS = "[N/A], 143771, [Not Supported], N/A, [Unknown Error], ERR!, [Insufficient Permissions], Unknown"
BLANK = f"{HEAD}, {WORDS}, X"


def parsed(line: str) -> SmiRow:
    row = parse_line(line, FIELDS)
    assert row is not None
    return row


def test_every_field_in_our_units() -> None:
    row = parsed(H200)
    assert (row.index, row.count, row.bus_id, row.name) == (3, 8, "00000000:5D:00.0", "NVIDIA H200")
    assert row.uuid == "GPU-8fe3a97d-51f6-a669-0d80-b4530b81b816"
    assert row.ts == datetime(2026, 11, 30, 11, 37, 40, 983000, UTC).timestamp()
    assert row.values == {
        "mem_used_bytes": 130000 * MIB,
        "mem_total_bytes": 143771 * MIB,
        "util_pct": 100,
        "mem_bw_util_pct": 41,
        "power_w": 698.75,
        "temp_c": 61,
        "sm_clock_mhz": 1980,
        "throttle_reasons": 4,
    }
    assert (row.reasons, row.lost) == ({}, None)


def test_words_in_place_of_numbers_are_none_with_their_reason() -> None:
    row = parsed(BLANK)
    assert row.values == {"mem_total_bytes": 143771 * MIB}
    assert row.lost is None
    assert row.reasons == {
        "mem_used_bytes": "nvidia-smi has no value for it ([N/A])",
        "util_pct": "not supported by this GPU",
        "mem_bw_util_pct": "nvidia-smi has no value for it ([N/A])",
        "power_w": "nvidia-smi says [Unknown Error]",
        "temp_c": "nvidia-smi says ERR!",
        "sm_clock_mhz": "not permitted for this user",
        "throttle_reasons": "nvidia-smi says Unknown",
    }


def test_lost_gpu_without_a_uuid() -> None:
    gone = ", ".join(["[GPU is lost]"] * 10)
    row = parsed(f"2026/11/30 11:37:40.983, 8, 3, {gone}, [GPU is lost]")
    assert (row.index, row.uuid, row.bus_id, row.name) == (3, None, None, None)
    assert row.lost is not None
    assert "fell off the bus" in row.lost


@pytest.mark.parametrize("bus", ["GPU 0000:5D:00.0", "GPU0000:5D:00.0", "GPU1: 0000:5D:00.0"])
def test_line_about_a_gpu_that_cannot_be_reached(bus: str) -> None:
    row = parsed(f"Unable to determine the device handle for {bus}: Unknown Error")
    assert row.bus_id == "0000:5D:00.0"
    assert row.lost == "nvidia-smi cannot reach it: Unknown Error"


@pytest.mark.parametrize(("cell", "at"), [("250", 7), ("-5", 5), ("nan", 9), ("1e999", 9), ("", 10)])
def test_impossible_numbers_are_none(cell: str, at: int) -> None:
    cells = H200.split(", ")
    cells[at] = cell
    assert len(parsed(", ".join(cells)).reasons) == 1


def test_name_with_commas_and_escapes() -> None:
    assert parsed(f"{H200}, 141 \x1b[31mGB\x07").name == "NVIDIA H200, 141 GB"


def test_older_and_missing_fields() -> None:
    older = [OLDER_NAMES.get(field, field) for field in FIELDS]
    row = parse_line(H200, older)
    assert row is not None
    assert row.values["throttle_reasons"] == 4
    without = [field for field in FIELDS if field != "clocks.sm"]
    row = parse_line(H200.replace(" 1980,", ""), without)
    assert row is not None
    assert row.reasons == {"sm_clock_mhz": "this nvidia-smi does not know the field"}


@pytest.mark.parametrize("line", ["", "No devices were found", H200[:60], "a, b, c", ", " * 5])
def test_other_lines_are_no_rows(line: str) -> None:
    assert parse_line(line, FIELDS) is None


def test_refused_field() -> None:
    assert unknown_field('Field "clocks_event_reasons.active" is not a valid field to query.') == (
        "clocks_event_reasons.active"
    )
    assert unknown_field(H200) is None


@given(st.text(max_size=300))
def test_no_line_raises(line: str) -> None:
    parse_line(line, FIELDS)
    parse_line(H200.replace("130000", line), FIELDS)
