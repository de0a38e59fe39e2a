from __future__ import annotations

import threading

from kvtop.ui.pace import FULL_INTERVAL_S, LONGEST_INTERVAL_S, Pace


def test_a_terminal_that_keeps_up_gets_everything() -> None:
    pace = Pace()
    pace.queued()
    pace.taken(1, 0.001)
    assert not pace.second_passed()
    assert pace.interval_s == FULL_INTERVAL_S
    assert not pace.is_slow


def test_a_slow_terminal_halves_the_rate_down_to_a_bound() -> None:
    pace = Pace()
    intervals = []
    for _ in range(8):
        pace.queued()
        pace.taken(1, 0.6)
        pace.second_passed()
        intervals.append(pace.interval_s)
    assert intervals[:3] == [1.0, 2.0, 4.0]
    assert intervals[-1] == LONGEST_INTERVAL_S
    assert pace.is_slow


def test_a_write_that_does_not_come_back_counts_too() -> None:
    pace = Pace()
    pace.queued()
    assert pace.second_passed(in_flight_s=1.5)
    assert pace.is_slow


def test_the_rate_recovers_after_calm_seconds_only() -> None:
    pace = Pace()
    pace.taken(0, 0.9)
    pace.second_passed()
    changes = [pace.second_passed() for _ in range(4)]
    assert changes == [False, False, False, True]
    assert pace.interval_s == FULL_INTERVAL_S


def test_middling_seconds_change_nothing() -> None:
    pace = Pace()
    pace.taken(0, 0.9)
    pace.second_passed()
    for _ in range(20):
        pace.taken(0, 0.1)
        assert not pace.second_passed()
    assert pace.is_slow


def test_drained_is_told_once_and_only_when_nothing_waits() -> None:
    pace, told = Pace(), threading.Event()
    pace.queued()
    pace.queued()
    assert pace.when_drained(told.set)
    pace.taken(1, 0.0)
    assert not told.is_set()
    pace.taken(1, 0.0)
    assert told.is_set()
    told.clear()
    pace.queued()
    pace.taken(1, 0.0)
    assert not told.is_set()


def test_with_nothing_waiting_nobody_is_called() -> None:
    pace = Pace()
    assert not pace.when_drained(lambda: 1 / 0)
    pace.taken(0, 0.0)


def test_a_terminal_that_was_taken_anew_has_nothing_waiting() -> None:
    pace, told = Pace(), threading.Event()
    pace.queued()
    pace.when_drained(told.set)
    pace.forget()
    assert pace.waiting == 0
    assert told.is_set()
