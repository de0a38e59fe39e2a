from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtop.simulator.paged import BLOCK_TOKENS, PagedStorage
from kvtop.simulator.scheduler import Scheduler
from kvtop.simulator.sequence import Sequence
from tests.simulator.sequences import run_to_end, sequence_of

BYTES_PER_TOKEN = 100


def _served(scheduler: Scheduler, prompt: list[int], max_tokens: int = 1) -> Sequence:
    sequence = sequence_of(prompt, max_tokens)
    scheduler.add(sequence)
    run_to_end(scheduler)
    return sequence


def test_device_memory_is_the_pool_from_the_start() -> None:
    storage = PagedStorage(10, BYTES_PER_TOKEN)
    assert storage.device_bytes == 10 * 16 * BYTES_PER_TOKEN
    sequence = sequence_of(range(40))
    assert storage.open(sequence)
    assert storage.extend(sequence, 40)
    assert storage.device_bytes == 10 * 16 * BYTES_PER_TOKEN
    assert storage.counters()["kv_blocks_used"] == 3


@settings(deadline=None)
@given(shared=st.integers(0, 100), own=st.integers(1, 60))
def test_cached_tokens_are_the_whole_shared_blocks(shared: int, own: int) -> None:
    scheduler = Scheduler(PagedStorage(64, BYTES_PER_TOKEN), 4)
    prefix = list(range(1, shared + 1))
    first = _served(scheduler, [*prefix, *range(1000, 1050)])
    second = _served(scheduler, [*prefix, *range(2000, 2000 + own)])
    assert first.cached_tokens == 0
    assert second.cached_tokens == shared // BLOCK_TOKENS * BLOCK_TOKENS


@pytest.mark.parametrize(("length", "cached"), [(15, 0), (16, 0), (17, 16), (32, 16), (33, 32)])
def test_a_repeated_prompt_is_cached_but_for_its_last_token(length: int, cached: int) -> None:
    scheduler = Scheduler(PagedStorage(16, BYTES_PER_TOKEN), 4)
    prompt = list(range(length))
    _served(scheduler, prompt)
    assert _served(scheduler, prompt).cached_tokens == cached


def test_the_answer_is_cached_for_the_next_turn() -> None:
    scheduler = Scheduler(PagedStorage(16, BYTES_PER_TOKEN), 4)
    first = _served(scheduler, list(range(20)), max_tokens=29)
    following = _served(scheduler, [*first.tokens, 7, 8])
    assert following.cached_tokens == 48


def test_the_longest_idle_prefix_is_evicted() -> None:
    storage = PagedStorage(1 + 6, BYTES_PER_TOKEN)
    scheduler = Scheduler(storage, 4)
    old, new = list(range(100, 133)), list(range(200, 233))
    _served(scheduler, old)
    _served(scheduler, new)
    _served(scheduler, list(range(300, 340)))
    assert _served(scheduler, new).cached_tokens == 32
    assert _served(scheduler, old).cached_tokens == 0


def test_a_prefix_is_evicted_from_its_end() -> None:
    scheduler = Scheduler(PagedStorage(1 + 5, BYTES_PER_TOKEN), 4)
    prompt = list(range(100, 165))
    _served(scheduler, prompt)
    _served(scheduler, list(range(500, 520)))
    assert _served(scheduler, prompt).cached_tokens == 48


def test_counts_queried_and_found_tokens() -> None:
    storage = PagedStorage(16, BYTES_PER_TOKEN)
    scheduler = Scheduler(storage, 4)
    for _ in range(2):
        _served(scheduler, list(range(40)))
    assert storage.counters()["cache_queries_tokens"] == 80
    assert storage.counters()["cache_hits_tokens"] == 32


def test_refuses_to_open_what_does_not_fit_and_takes_nothing() -> None:
    storage = PagedStorage(4, BYTES_PER_TOKEN)
    assert not storage.open(sequence_of(range(49)))
    assert storage.pool.free_blocks == 3
    assert storage.open(sequence_of(range(48)))


def test_idle_cached_blocks_are_not_counted_twice() -> None:
    storage = PagedStorage(1 + 4, BYTES_PER_TOKEN)
    scheduler = Scheduler(storage, 4)
    _served(scheduler, list(range(33)))
    assert storage.open(other := sequence_of(range(500, 510)))
    assert storage.extend(other, 10)
    assert not storage.open(sequence_of([*range(32), *range(600, 632)]))
    assert storage.open(sequence_of([*range(32), *range(600, 616)]))


def test_refuses_to_extend_beyond_the_pool_and_takes_nothing() -> None:
    storage = PagedStorage(4, BYTES_PER_TOKEN)
    sequence = sequence_of(range(20))
    assert storage.open(sequence)
    assert storage.extend(sequence, 20)
    assert not storage.extend(sequence, 49)
    assert storage.pool.used_blocks == 2
