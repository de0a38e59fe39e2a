"""Deadlines that do not drift, and percentiles of lateness."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtop.telemetry.clock import NO_LATENESS, Deadlines, LatenessLog, SystemClock


def test_deadlines_are_multiples_of_the_interval() -> None:
    deadlines = Deadlines(5.0, 0.1)
    seen = []
    for _ in range(1001):
        seen.append(deadlines.current)
        deadlines.advance(deadlines.current + 0.03)
    assert seen[-1] == pytest.approx(105.0, abs=1e-9)
    assert deadlines.missed == 0


def test_late_tick_skips_what_has_passed() -> None:
    deadlines = Deadlines(0.0, 1.0)
    deadlines.advance(3.5)
    assert (deadlines.current, deadlines.missed) == (4.0, 3)


def test_tick_that_ends_on_the_next_deadline_keeps_it() -> None:
    deadlines = Deadlines(0.0, 0.1)
    for n in range(1, 2000):
        deadlines.advance(n * 0.1)
    assert deadlines.missed == 0


@given(st.lists(st.floats(0.0, 5.0), max_size=50), st.sampled_from([0.05, 0.1, 0.3, 1.0]))
def test_no_deadline_is_lost_or_repeated(durations: list[float], interval_s: float) -> None:
    deadlines = Deadlines(100.0, interval_s)
    due = [deadlines.current]
    for duration in durations:
        deadlines.advance(due[-1] + duration)
        due.append(deadlines.current)
        assert due[-1] >= due[-2] + min(duration, interval_s) - 1e-6
    assert round((due[-1] - due[0]) / interval_s) == len(durations) + deadlines.missed


def test_lateness_by_nearest_rank() -> None:
    log = LatenessLog()
    for milliseconds in range(100, 0, -1):
        log.add(milliseconds / 1000)
    lateness = log.summary()
    assert (lateness.n, lateness.p50_s, lateness.p95_s, lateness.p99_s) == (100, 0.05, 0.095, 0.099)
    assert lateness.max_s == 0.1


def test_the_worst_is_remembered_beyond_the_kept_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvtop.telemetry.clock.KEPT_TICKS", 10)
    log = LatenessLog()
    for late_s in (9.0, *[0.001] * 20):
        log.add(late_s)
    lateness = log.summary()
    assert (lateness.n, lateness.p99_s, lateness.max_s) == (21, 0.001, 9.0)


def test_no_tick_has_no_lateness() -> None:
    assert LatenessLog().summary() == NO_LATENESS
    assert NO_LATENESS.p99_s is None


def test_waiting_ends_when_stopped() -> None:
    stop = threading.Event()
    stop.set()
    clock = SystemClock()
    assert clock.wait_until(clock.monotonic() + 3600, stop)
    assert not clock.wait_until(clock.monotonic() - 1, threading.Event())
