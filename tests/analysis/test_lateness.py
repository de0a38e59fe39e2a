from __future__ import annotations

import pytest

from kvtop.analysis.lateness import sampler_lateness
from kvtop.analysis.tables import gpu_table, process_table
from tests.analysis.planted import PROCESS_HEADER, flat, gpu_csv, processes_csv


def ticks(count: int) -> list[float]:
    return [1000 + n / 10 for n in range(count)]


def test_what_the_sampler_noted_counts() -> None:
    noted = gpu_csv(ticks(200), flat, late_ms=lambda n: 50.0 if n > 190 else 0.5)
    late = sampler_lateness(gpu_table(noted), process_table(b""))
    assert late is not None
    assert late.origin == "late_ms"
    assert (late.p99_s, late.max_s, late.samples) == (0.05, 0.05, 200)


def test_without_a_gpu_the_gaps_between_process_samples_count() -> None:
    times = ticks(100)
    held_up = [ts + 0.06 if n == 50 else ts for n, ts in enumerate(times)]
    steady, late = (
        sampler_lateness(gpu_table(b""), process_table(processes_csv(t, rss=flat, gpus=["GPU-0"])))
        for t in (times, held_up)
    )
    assert steady is not None
    assert late is not None
    assert steady.max_s == pytest.approx(0, abs=1e-6)
    assert late.max_s == pytest.approx(0.06)
    assert late.origin == "gaps"


def test_too_few_samples_say_nothing() -> None:
    assert (
        sampler_lateness(gpu_table(gpu_csv(ticks(5), flat)), process_table(processes_csv(ticks(5), rss=flat)))
        is None
    )


def test_the_time_between_two_sessions_is_nobodys_lateness() -> None:
    rows = [f"{ts / 10!r},41,a,engine,,,5,psutil" for ts in (*range(100), *range(700, 800))]
    table = process_table(("\n".join([PROCESS_HEADER, *rows]) + "\n").encode())
    windows = [(0.5, 1.5), (70.5, 71.5)]
    resumed = sampler_lateness(gpu_table(b""), table, windows)
    assert resumed is not None
    assert resumed.max_s < 0.001
    stalled = sampler_lateness(gpu_table(b""), table, windows[:1])
    assert stalled is not None
    assert stalled.max_s > 50


@pytest.mark.parametrize("window", [(float("nan"), 1.0), (5.0, 3.0), (1e300, 1e301)])
def test_odd_base_windows_do_no_harm(window: tuple[float, float]) -> None:
    rows = [f"{ts / 10!r},41,a,engine,,,5,psutil" for ts in range(100)]
    table = process_table(("\n".join([PROCESS_HEADER, *rows]) + "\n").encode())
    assert sampler_lateness(gpu_table(b""), table, [(1.0, 2.0), window]) is not None
