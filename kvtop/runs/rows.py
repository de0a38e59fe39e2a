"""Readings and records as lines of CSV and JSON: UTF-8, one line each, no locale."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from kvtop.model.quantity import MIB
from kvtop.model.reading import GpuReading, ProcessReading
from kvtop.model.record import RequestRecord
from kvtop.runs.columns import REQUEST_COLUMNS
from kvtop.runs.foreign import clean_json, safe_text

Cell = str | int | float | None


def gpu_line(reading: GpuReading) -> bytes:
    """Return one line of `gpu.csv`; memory in MiB, lateness in ms, three decimals each."""
    return csv_line(
        (
            reading.ts,
            reading.device.index,
            reading.device.uuid,
            _mib(reading.mem_used_bytes),
            _mib(reading.mem_total_bytes),
            reading.util_pct,
            reading.mem_bw_util_pct,
            reading.power_w,
            reading.temp_c,
            reading.sm_clock_mhz,
            reading.throttle_reasons,
            f"{reading.late_s * 1000:.3f}",
            reading.source,
        )
    )


def process_line(reading: ProcessReading) -> bytes:
    """Return one line of `processes.csv`; memory in bytes."""
    return csv_line(
        (
            reading.ts,
            reading.pid,
            reading.name,
            reading.kind,
            reading.uuid,
            reading.gpu_mem_bytes,
            reading.rss_bytes,
            reading.source,
        )
    )


def request_line(record: RequestRecord) -> bytes:
    """Return one line of `requests.csv`; a failure is its code."""
    cells = {name: getattr(record, name) for name in REQUEST_COLUMNS}
    cells["failure"] = record.failure.code if record.failure else None
    return csv_line(cells.values())


def csv_line(cells: Iterable[Cell]) -> bytes:
    """Return `cells` as a CSV line: None and what is not finite are empty, text is quoted where needed."""
    return (",".join(map(_cell, cells)) + "\n").encode()


def json_line(document: Mapping[str, Any]) -> bytes:
    """Return `document` as one line of JSON. What JSON cannot hold becomes null or text, never an error."""
    return _json(document, None).encode("utf-8", "replace") + b"\n"


def json_document(document: Mapping[str, Any]) -> bytes:
    """Return `document` as indented JSON, else like `json_line`."""
    return _json(document, 2).encode("utf-8", "replace") + b"\n"


def _json(document: Mapping[str, Any], indent: int | None) -> str:
    separators = (",", ":") if indent is None else None
    try:
        return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    except (TypeError, ValueError, RecursionError):
        document = clean_json(document, str)
        return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return _quoted(safe_text(value))
    if isinstance(value, float):
        return float.__repr__(value) if math.isfinite(value) else ""
    return str(value)


def _quoted(text: str) -> str:
    if '"' in text:
        text = text.replace('"', '""')
    elif "," not in text:
        return text
    return f'"{text}"'


def _mib(count: int | None) -> str | None:
    return None if count is None else f"{count / MIB:.3f}"
