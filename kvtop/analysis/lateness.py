"""How late the memory samples were against their clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from kvtop.analysis.bases import Window
from kvtop.analysis.numbers import number

if TYPE_CHECKING:
    import polars as pl

MIN_SAMPLES = 20


@dataclass(frozen=True, slots=True)
class Lateness:
    """Lateness of the samples in seconds."""

    p99_s: float
    max_s: float
    samples: int
    origin: str
    """`late_ms`: as the sampler noted it; `gaps`: time between process samples beyond the usual."""


def sampler_lateness(
    gpus: pl.DataFrame, processes: pl.DataFrame, base_windows: Sequence[Window] = ()
) -> Lateness | None:
    """Return the lateness that the GPU samples noted, else that of the gaps between process samples.

    Takes the tables of `kvtop.analysis.tables`. None for fewer than 20 samples. Between two of
    `base_windows`, one for each session, nobody sampled: the widest gap there is not the sampler's.
    """
    noted = gpus["late_ms"].drop_nulls()
    if noted.len() >= MIN_SAMPLES:
        return _lateness(noted / 1000, "late_ms")
    times = processes.drop_nulls("rss_bytes")["ts"].unique().sort()
    gaps = _within_sessions(times, sorted(base_windows))
    if gaps.len() >= MIN_SAMPLES:
        return _lateness(gaps - gaps.median(), "gaps")
    return None


def _within_sessions(times: pl.Series, base_windows: Sequence[Window]) -> pl.Series:
    gaps = times.diff()
    for (_, last_end), (next_start, _) in pairwise(base_windows):
        first, behind = (int(times.search_sorted(ts, side="right")) for ts in (last_end, next_start))
        widest = gaps.slice(first, behind - first).arg_max() if behind > first else None
        if widest is not None:
            gaps[first + widest] = None
    return gaps.drop_nulls()


def _lateness(late_s: pl.Series, origin: str) -> Lateness:
    late_s = late_s.clip(lower_bound=0.0)
    p99_s, max_s = late_s.quantile(0.99, "linear"), late_s.max()
    return Lateness(number(p99_s) or 0.0, number(max_s) or 0.0, late_s.len(), origin)
