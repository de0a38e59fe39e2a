"""The CSV files of a run folder as polars frames.

A cut last line is skipped, a broken cell is null, a broken line loses its `ts` and is dropped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

GPU_COLUMNS = {"ts": float, "gpu": float, "uuid": str, "mem_used_mib": float, "late_ms": float, "source": str}
"""The columns that an analysis uses, by type; the others are not read, for a long run has a million rows."""
PROCESS_COLUMNS = {
    "ts": float,
    "pid": float,
    "kind": str,
    "uuid": str,
    "gpu_mem_bytes": float,
    "rss_bytes": float,
    "source": str,
}

_LARGEST = 1e18
_UTF8_MARK = b"\xef\xbb\xbf"
_HEADER_GARBAGE = re.compile(rb'[\x00"]')


def load() -> None:
    """Load polars and its CSV reader now, so that no later analysis does it while samples are being taken."""
    import polars as pl

    process_table(b"ts,pid,rss_bytes\n0.0,1,1\n").group_by("ts").agg(pl.col("rss_bytes").sum())


def gpu_table(content: bytes) -> pl.DataFrame:
    """Return `gpu.csv` with the columns of `GPU_COLUMNS`, ordered by `ts` (Unix seconds)."""
    return read_table(content, GPU_COLUMNS)


def process_table(content: bytes) -> pl.DataFrame:
    """Return `processes.csv` with the columns of `PROCESS_COLUMNS`, ordered by `ts` (Unix seconds)."""
    return read_table(content, PROCESS_COLUMNS)


def read_table(content: bytes, columns: dict[str, type]) -> pl.DataFrame:
    """Return the named columns of a CSV file, ordered by `ts`; nothing that is in the bytes raises.

    Text is Categorical, for it repeats: names of GPUs, kinds, sources. Numbers are Float64 (a driver's
    `12` and `12.0` are the same); NaN, infinity and 1e18 or more are null. Rows without a finite `ts` are
    dropped; columns that the file lacks are null.
    """
    import polars as pl

    types = {name: pl.Categorical() if kind is str else pl.Float64() for name, kind in columns.items()}
    header, complete = _complete_lines(content)
    present = [name for name in types if name in header]
    if "ts" not in present or len(set(header)) < len(header):
        return pl.DataFrame(schema=types)
    raw = pl.read_csv(
        complete,
        columns=present,
        schema_overrides=types,
        ignore_errors=True,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
        null_values=[""],
    )
    finite = [
        pl.when(pl.col(name).abs() < _LARGEST).then(pl.col(name)).alias(name)
        for name in present
        if columns[name] is not str
    ]
    missing = [pl.lit(None, dtype=types[name]).alias(name) for name in types if name not in header]
    table = raw.with_columns(finite + missing).select(list(types)).drop_nulls("ts")
    return table if table["ts"].is_sorted() else table.sort("ts", maintain_order=True)


def _complete_lines(content: bytes) -> tuple[list[str], bytes]:
    """Return the header's names and the bytes up to the last line end, without lines of an open quote."""
    lines = content[: content.rfind(b"\n") + 1].removeprefix(_UTF8_MARK).lstrip(b"\r\n")
    header = lines[: lines.find(b"\n") + 1].rstrip(b"\r\n")
    if _HEADER_GARBAGE.search(header):
        return [], b""
    if b'"' in lines:
        lines = b"".join(line for line in lines.splitlines(keepends=True) if line.count(b'"') % 2 == 0)
    return header.decode("utf-8", "replace").split(","), lines
