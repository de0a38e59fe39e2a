from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kvtop.model.quantity import MIB
from kvtop.simulator.growing import SEGMENT_BYTES, GrowingStorage
from kvtop.simulator.kv_model import SIMULATED_8B
from kvtop.simulator.scheduler import Scheduler
from tests.simulator.sequences import run_to_end, sequence_of

PER_TOKEN = SIMULATED_8B.bytes_per_token


def _segments(tokens: int) -> int:
    return (tokens * PER_TOKEN + SEGMENT_BYTES - 1) // SEGMENT_BYTES * SEGMENT_BYTES


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 400), st.integers(1, 20)), min_size=1, max_size=5))
def test_reserved_memory_is_the_highest_fill_by_the_formula(requests: list[tuple[int, int]]) -> None:
    storage = GrowingStorage(1024 * MIB, PER_TOKEN)
    scheduler = Scheduler(storage, 1)
    highest = 0
    for prompt_tokens, max_tokens in requests:
        scheduler.add(sequence_of(range(prompt_tokens), max_tokens))
        run_to_end(scheduler)
        highest = max(highest, _segments(prompt_tokens + max_tokens - 1))
        assert storage.device_bytes == highest
        assert storage.counters()["kv_bytes_used"] == 0


def test_requests_that_run_together_add_up() -> None:
    storage = GrowingStorage(1024 * MIB, PER_TOKEN)
    scheduler = Scheduler(storage, 8)
    for _ in range(3):
        scheduler.add(sequence_of(range(100), 1))
    run_to_end(scheduler)
    assert storage.device_bytes == 3 * _segments(100)


def test_a_request_waits_until_its_longest_answer_fits() -> None:
    storage = GrowingStorage(_segments(100), PER_TOKEN)
    scheduler = Scheduler(storage, 8)
    first, second = sequence_of(range(50), 50), sequence_of(range(50), 1)
    scheduler.add(first)
    scheduler.add(second)
    assert scheduler.plan() is not None
    assert scheduler.running == [first]
    assert list(scheduler.waiting) == [second]
    scheduler.abort(first)
    assert scheduler.plan() is not None
    assert scheduler.running == [second]


def test_has_no_blocks_and_no_prefix_cache() -> None:
    storage = GrowingStorage(1024 * MIB, PER_TOKEN)
    scheduler = Scheduler(storage, 1)
    sequence = sequence_of(range(100))
    scheduler.add(sequence)
    run_to_end(scheduler)
    assert sequence.cached_tokens is None
    counters = storage.counters()
    assert counters["kv_blocks_used"] is None
    assert counters["cache_hits_tokens"] is None


def test_capacity_is_what_fits_into_the_device() -> None:
    assert GrowingStorage(10 * MIB + 5, 1024).capacity_tokens == 10 * 1024
