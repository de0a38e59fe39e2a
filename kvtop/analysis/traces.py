"""Memory over time: one ascending series for each GPU, the engine's process, and everybody else."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from kvtop.analysis.numbers import median
from kvtop.model.quantity import MIB

if TYPE_CHECKING:
    import polars as pl

ENGINE = "engine"


@dataclass(frozen=True, slots=True)
class Trace:
    """One memory series: Unix seconds, ascending, and bytes, of one length."""

    ts: array[float]
    bytes: array[float]
    simulated: bool = False

    @classmethod
    def of(cls, ts: Iterable[float], held: Iterable[float], *, simulated: bool = False) -> Self:
        """Return the trace of such times and bytes."""
        return cls(array("d", ts), array("d", held), simulated)

    def between(self, start_ts: float, end_ts: float) -> Trace:
        """Return the samples with start <= ts <= end."""
        span = slice(bisect_left(self.ts, start_ts), bisect_right(self.ts, end_ts))
        return Trace(self.ts[span], self.bytes[span], self.simulated)

    def median(self) -> float | None:
        """Return the median in bytes, None without samples."""
        return median(self.bytes)

    def __len__(self) -> int:
        return len(self.ts)


@dataclass(frozen=True, slots=True)
class EngineSeen:
    """Which processes were the engine's when: Unix seconds, ascending, and pids, of one length."""

    ts: array[float] = field(default_factory=lambda: array("d"))
    pids: array[int] = field(default_factory=lambda: array("q"))

    def between(self, start_ts: float, end_ts: float) -> frozenset[int]:
        """Return the pids that were seen with start <= ts <= end."""
        return frozenset(self.pids[bisect_left(self.ts, start_ts) : bisect_right(self.ts, end_ts)])


def device_traces(gpus: pl.DataFrame, uuids: Collection[str] = ()) -> dict[str, Trace]:
    """Return the used memory of each GPU, or of `uuids` alone, by UUID; by index where a GPU has none."""
    import polars as pl

    if uuids:
        gpus = gpus.filter(pl.col("uuid").is_in(list(uuids)))
    index = pl.concat_str(pl.lit("gpu "), pl.col("gpu").cast(pl.Int64, strict=False).cast(pl.String))
    rows = (
        gpus.drop_nulls("mem_used_mib")
        .with_columns(key=pl.coalesce(pl.col("uuid").cast(pl.String), index))
        .drop_nulls("key")
    )
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


def engine_seen(processes: pl.DataFrame) -> EngineSeen:
    """Return when which processes were the engine's."""
    import polars as pl

    rows = processes.filter(pl.col("kind") == ENGINE).drop_nulls("pid")
    return EngineSeen(array("d", rows["ts"]), array("q", rows["pid"].cast(pl.Int64)))


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
        traces.append(Trace.of(rows["ts"], rows["others"]))
    return tuple(traces)


def gpu_memory_is_held(processes: pl.DataFrame) -> bool:
    """Return whether any process was seen to hold GPU memory."""
    return bool(processes["gpu_mem_bytes"].is_not_null().any())


def _trace(rows: pl.DataFrame, value: pl.Expr) -> Trace:
    simulated = bool((rows["source"] == "simulated").any())
    return Trace.of(rows["ts"], rows.select(value.alias("bytes"))["bytes"], simulated=simulated)
