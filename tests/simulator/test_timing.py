from __future__ import annotations

from itertools import pairwise

from kvtop.simulator.paged import PagedStorage
from kvtop.simulator.scheduler import Scheduler
from kvtop.simulator.timing import STEP_BASE_S, StepLoad, step_seconds
from tests.simulator.sequences import sequence_of


def _ttft_s(prompt_tokens: int) -> float:
    scheduler = Scheduler(PagedStorage(10_000, 1), 1)
    sequence = sequence_of(range(prompt_tokens), 1)
    scheduler.add(sequence)
    seconds = 0.0
    while step := scheduler.plan():
        seconds += step_seconds(step.load)
        scheduler.finish(step)
    return seconds


def test_ttft_rises_a_little_faster_than_the_prompt() -> None:
    times_s = [_ttft_s(length) for length in (8192, 16384, 32768, 65536, 131072)]
    ratios = [later / earlier for earlier, later in pairwise(times_s)]
    assert ratios == sorted(ratios)
    assert all(2.0 < ratio < 2.3 for ratio in ratios)
    assert 0.9 < times_s[-1] < 1.1


def test_a_chunk_costs_the_same_attention_wherever_it_is_cut() -> None:
    whole = StepLoad().with_prefill(0, 8000)
    parts = StepLoad().with_prefill(0, 3000).with_prefill(3000, 5000)
    assert whole == parts


def test_decoding_slows_a_little_with_batch_and_context() -> None:
    short, long = StepLoad().with_decode(4096), StepLoad().with_decode(131_072)
    pair = short.with_decode(4096)
    assert 1.05 < step_seconds(long) / step_seconds(short) < 1.5
    assert step_seconds(short) < step_seconds(pair) < 1.1 * step_seconds(short)
    assert step_seconds(StepLoad()) == STEP_BASE_S
