"""How late the memory samples were against their clock."""

from __future__ import annotations

from dataclasses import dataclass

from kvtop.analysis.numbers import median, quantile
from kvtop.analysis.tables import gpu_table, process_table

MIN_SAMPLES = 20


@dataclass(frozen=True, slots=True)
class Lateness:
    """Lateness of the samples in seconds."""

    p99_s: float
    max_s: float
    samples: int
    origin: str
    """`late_ms`: as the sampler noted it; `gaps`: time between process samples beyond the usual."""


def sampler_lateness(gpu_csv: bytes, processes_csv: bytes) -> Lateness | None:
    """Return the lateness that `gpu.csv` noted, else that of the gaps in `processes.csv`.

    None for fewer than 20 samples.
    """
    noted = gpu_table(gpu_csv)["late_ms"].drop_nulls()
    if noted.len() >= MIN_SAMPLES:
        return _lateness([max(float(late), 0.0) / 1000 for late in noted], "late_ms")
    times = process_table(processes_csv).drop_nulls("rss_bytes")["ts"].unique().sort()
    gaps = [float(gap) for gap in times.diff().drop_nulls()]
    usual = median(gaps)
    if usual is None or len(gaps) < MIN_SAMPLES:
        return None
    return _lateness([max(gap - usual, 0.0) for gap in gaps], "gaps")


def _lateness(late_s: list[float], origin: str) -> Lateness:
    return Lateness(quantile(late_s, 0.99) or 0.0, max(late_s), len(late_s), origin)
