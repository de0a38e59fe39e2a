"""Rows of `gpu.csv` and `processes.csv` as readings. A cell that cannot be read is None."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING

from kvtop.model.quantity import MIB
from kvtop.model.reading import GpuDevice, GpuReading, ProcessReading
from kvtop.model.text import clean_text
from kvtop.runs.columns import GPU_COLUMNS, PROCESS_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_NAME_LIMIT = 80
_INT_LIMIT = 2**63
UNNAMED = "GPU"
"""The name of a GPU that nobody here has named: the files hold none."""

Row = dict[str, str]


def gpu_readings(lines: Iterable[bytes], names: Mapping[str, str]) -> Iterator[GpuReading]:
    """Yield the readings in `lines`, header and odd rows skipped. `names` are those of the GPUs by UUID."""
    for row in _rows(lines, GPU_COLUMNS):
        ts, index = _number(row["ts"]), _integer(row["gpu"])
        uuid = clean_text(row["uuid"], _NAME_LIMIT)
        if ts is None or index is None or not uuid:
            continue
        yield GpuReading(
            ts,
            GpuDevice(index, uuid, names.get(uuid, UNNAMED)),
            mem_used_bytes=_mib(row["mem_used_mib"]),
            mem_total_bytes=_mib(row["mem_total_mib"]),
            util_pct=_number(row["util_pct"]),
            mem_bw_util_pct=_number(row["mem_bw_util_pct"]),
            power_w=_number(row["power_w"]),
            temp_c=_number(row["temp_c"]),
            sm_clock_mhz=_integer(row["sm_clock_mhz"]),
            throttle_reasons=_integer(row["throttle_reasons"]),
            late_s=(_number(row["late_ms"]) or 0.0) / 1000,
            source=clean_text(row["source"], _NAME_LIMIT),
        )


def process_readings(lines: Iterable[bytes]) -> Iterator[ProcessReading]:
    """Yield the readings in `lines`. Header and odd rows are skipped."""
    for row in _rows(lines, PROCESS_COLUMNS):
        ts, pid = _number(row["ts"]), _integer(row["pid"])
        if ts is None or pid is None:
            continue
        yield ProcessReading(
            ts,
            pid,
            clean_text(row["name"], _NAME_LIMIT) or None,
            clean_text(row["kind"], _NAME_LIMIT),
            clean_text(row["uuid"], _NAME_LIMIT) or None,
            _integer(row["gpu_mem_bytes"]),
            _integer(row["rss_bytes"]),
            clean_text(row["source"], _NAME_LIMIT),
        )


def _rows(lines: Iterable[bytes], columns: tuple[str, ...]) -> Iterator[Row]:
    for line in lines:
        try:
            cells = next(csv.reader([line.decode()]), [])
        except (ValueError, csv.Error):
            continue
        if len(cells) >= len(columns):
            yield dict(zip(columns, cells, strict=False))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _integer(text: str) -> int | None:
    number = _number(text)
    if number is None or not 0 <= number < _INT_LIMIT:
        return None
    return int(number)


def _mib(text: str) -> int | None:
    number = _number(text)
    return None if number is None or not 0 <= number * MIB < _INT_LIMIT else round(number * MIB)
