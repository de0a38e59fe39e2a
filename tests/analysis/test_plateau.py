from __future__ import annotations

from dataclasses import replace

import pytest

from kvtop.analysis.plateau import OTHERS_MOVED_BYTES, decode_window, others_moved, read_plateau
from kvtop.analysis.traces import Trace
from kvtop.model.record import RequestRecord
from tests.analysis.planted import plan, requests

RECORD: RequestRecord = replace(requests(plan((4096,), 1))[0], ts=100.0, ttft_s=1.0, last_token_s=3.0)


def trace(samples: dict[float, float]) -> Trace:
    return Trace.of(samples, samples.values())


def test_the_plateau_is_the_median_from_first_to_last_token() -> None:
    prefill = {100.0 + n / 10: 900.0 for n in range(10)}
    decode = {101.0 + n / 10: 500.0 for n in range(21)}
    after = {103.1 + n / 10: 100.0 for n in range(10)}
    plateau = read_plateau(RECORD, [trace(prefill | decode | after)])
    assert plateau.bytes == 500
    assert plateau.samples == 21
    assert plateau.answered == pytest.approx(0.625, abs=0.03)


def test_scratch_memory_left_over_from_prefill_does_not_count() -> None:
    samples = {101.0 + n / 10: 900.0 if n < 5 else 500.0 for n in range(9)}
    assert read_plateau(RECORD, [trace(samples)]).bytes == 500


def test_a_short_decode_is_read_whole_before_it_is_given_up() -> None:
    plateau = read_plateau(RECORD, [trace({101.1: 400.0, 101.2: 500.0, 103.0: 600.0})])
    assert plateau.bytes == 500


@pytest.mark.parametrize(
    "samples", [{}, {101.1: 5.0, 102.0: 5.0}, {100.5: 5.0, 101.5: 5.0, 102.5: 5.0, 103.5: 5.0}]
)
def test_fewer_than_three_samples_are_no_plateau(samples: dict[float, float]) -> None:
    plateau = read_plateau(RECORD, [trace(samples)])
    assert plateau.bytes is None
    assert plateau.void == "few_samples"


def test_two_gpus_are_summed_and_the_one_with_fewer_samples_decides() -> None:
    full = trace({101.0 + n / 10: 500.0 for n in range(21)})
    assert read_plateau(RECORD, [full, full]).bytes == 1000
    assert read_plateau(RECORD, [full, trace({102.0: 1.0})]).void == "few_samples"


@pytest.mark.parametrize(
    "times",
    [
        {"ttft_s": None},
        {"last_token_s": None},
        {"last_token_s": 1.0},
        {"last_token_s": 0.5},
        {"ts": float("nan")},
        {"ts": 1e17, "last_token_s": 1.5},
    ],
)
def test_without_first_and_last_token_there_is_no_window(times: dict[str, float | None]) -> None:
    record = replace(RECORD, **times)  # type: ignore[arg-type] # a table of fields
    assert decode_window(record) is None
    assert read_plateau(record, [trace({1.0: 1.0})]).void == "no_times"


def test_others_that_come_during_the_request_are_seen() -> None:
    steady = trace({96.0: 5e9, 98.0: 5e9, 101.0: 5e9, 103.0: 5e9, 130.0: 0.0})
    coming = trace({98.0: 5e9, 101.0: 5e9, 103.0: 5e9 + 2 * OTHERS_MOVED_BYTES})
    assert not others_moved(RECORD, [steady], (95.0, 97.0))
    assert others_moved(RECORD, [steady, coming], (95.0, 97.0))
    assert others_moved(RECORD, [coming], None)


def test_others_that_went_since_the_base_are_seen() -> None:
    gone = trace({50.0: 5e9, 98.0: 1e9, 101.0: 1e9})
    assert others_moved(RECORD, [gone], (49.0, 51.0))
    assert not others_moved(RECORD, [gone], None)


def test_nobody_listed_is_nobody_moved() -> None:
    assert not others_moved(RECORD, [], (1.0, 2.0))
    assert not others_moved(RECORD, [trace({})], (1.0, 2.0))
