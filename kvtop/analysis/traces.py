"""Memory over time: one ascending series for each GPU, the engine's process, and everybody else."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtop.model.quantity import MIB

if TYPE_CHECKING:
    import polars as pl

ENGINE = "engine"


@dataclass(frozen=True, slots=True)
class Trace:
    """One memory series: Unix seconds, ascending, and bytes; both without nulls and of one length."""

    ts: pl.Series
    bytes: pl.Series
    simulated: bool = False

    def between(self, start_ts: float, end_ts: float) -> Trace:
        """Return the samples with start <= ts <= end."""
        first = int(self.ts.search_sorted(start_ts, side="left"))
        count = max(int(self.ts.search_sorted(end_ts, side="right")) - first, 0)
        return Trace(self.ts.slice(first, count), self.bytes.slice(first, count), self.simulated)

    def median(self) -> float | None:
        """Return the median in bytes, None without samples."""
        return None if self.bytes.is_empty() else float(self.bytes.median())  # type: ignore[arg-type] # floats

    def values(self) -> list[float]:
        """Return the bytes as a list."""
        return [float(value) for value in self.bytes]

    def times(self) -> list[float]:
        """Return the Unix seconds as a list."""
        return [float(value) for value in self.ts]

    @property
    def last_ts(self) -> float | None:
        """When the last sample was taken."""
        return float(self.ts[-1]) if self.ts.len() else None

    def __len__(self) -> int:
        return self.ts.len()


def device_traces(gpus: pl.DataFrame) -> dict[str, Trace]:
    """Return the used memory of each GPU by UUID; of each index where a GPU has no UUID."""
    import polars as pl

    index = pl.concat_str(pl.lit("gpu "), pl.col("gpu").cast(pl.Int64, strict=False).cast(pl.String))
    rows = gpus.drop_nulls("mem_used_mib").with_columns(key=pl.coalesce("uuid", index)).drop_nulls("key")
    parts = rows.partition_by("key", as_dict=True)
    return {str(key[0]): _trace(part, pl.col("mem_used_mib") * MIB) for key, part in sorted(parts.items())}


def engine_trace(processes: pl.DataFrame) -> Trace | None:
    """Return the resident memory of the engine, summed over its processes; None where never read.

    A process has one row for each GPU it is on, with the same resident memory in each: it counts once.
    """
    import polars as pl

    rows = processes.filter(pl.col("kind") == ENGINE).drop_nulls("rss_bytes")
    if rows.is_empty():
        return None
    once = rows.group_by("ts", "pid").agg(pl.col("rss_bytes").max(), pl.col("source").first())
    total = once.group_by("ts").agg(pl.col("rss_bytes").sum(), pl.col("source").first()).sort("ts")
    return _trace(total, pl.col("rss_bytes"))


def engine_gpus(processes: pl.DataFrame) -> frozenset[str]:
    """Return the UUIDs of the GPUs that the engine holds memory on."""
    import polars as pl

    rows = processes.filter((pl.col("kind") == ENGINE) & pl.col("uuid").is_not_null())
    return frozenset(str(uuid) for uuid in rows["uuid"].unique())


def others_traces(processes: pl.DataFrame, uuids: Collection[str]) -> tuple[Trace, ...]:
    """Return the GPU memory of all processes but the engine, one trace for each of `uuids`.

    Each GPU has its own process lists, seconds apart; one that holds the engine alone counts as 0 bytes.
    """
    import polars as pl

    held = pl.col("gpu_mem_bytes").filter(pl.col("kind") != ENGINE).sum().alias("others")
    traces = []
    for uuid in uuids:
        rows = processes.filter(pl.col("uuid") == uuid).group_by("ts").agg(held).sort("ts")
        traces.append(Trace(rows["ts"], rows["others"]))
    return tuple(traces)


def gpu_memory_is_held(processes: pl.DataFrame) -> bool:
    """Return whether any process was seen to hold GPU memory."""
    return bool(processes["gpu_mem_bytes"].is_not_null().any())


def _trace(rows: pl.DataFrame, value: pl.Expr) -> Trace:
    simulated = bool((rows["source"] == "simulated").any())
    return Trace(rows["ts"], rows.select(value.alias("bytes"))["bytes"], simulated)
