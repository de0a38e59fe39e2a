from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kvtop.simulator.paged import BLOCK_TOKENS, PagedStorage
from kvtop.simulator.scheduler import STEP_TOKENS, Scheduler, Step
from kvtop.simulator.sequence import Sequence, Token
from tests.simulator.sequences import run_to_end, sequence_of

CONTEXT = 96
BIG_POOL = 4096


def _scheduler(blocks: int = BIG_POOL, max_sequences: int = 8) -> Scheduler:
    return Scheduler(PagedStorage(blocks, 1), max_sequences)


def test_a_long_prompt_is_prefilled_in_chunks_and_gives_one_token_at_its_end() -> None:
    scheduler = _scheduler()
    received: list[Token] = []
    scheduler.add(sequence_of(range(2 * STEP_TOKENS + 1), 2, received))
    computed = []
    for _ in range(3):
        step = scheduler.plan()
        assert step is not None
        computed.append(step.load.prefill_tokens)
        assert not received
        scheduler.finish(step)
    assert computed == [STEP_TOKENS, STEP_TOKENS, 1]
    assert len(received) == 1


def test_decoding_goes_on_while_another_prompt_is_prefilled() -> None:
    scheduler = _scheduler()
    early: list[Token] = []
    scheduler.add(sequence_of(range(10), 5, early))
    _steps(scheduler, 1)
    scheduler.add(sequence_of(range(100, 100 + 2 * STEP_TOKENS), 1))
    (step,) = _steps(scheduler, 1)
    assert step.load.decode_sequences == 1
    assert step.load.prefill_tokens == STEP_TOKENS - 1
    assert len(early) == 2


def test_no_more_run_than_allowed_and_the_first_comes_first() -> None:
    scheduler = _scheduler(max_sequences=2)
    requests = [sequence_of(range(i, i + 20), 3) for i in (0, 100, 200)]
    for request in requests:
        scheduler.add(request)
    _steps(scheduler, 1)
    assert scheduler.running == requests[:2]
    assert list(scheduler.waiting) == requests[2:]
    run_to_end(scheduler)
    assert [request.generated_tokens for request in requests] == [3, 3, 3]


def test_a_request_waits_while_the_pool_is_full_and_runs_when_one_is_aborted() -> None:
    scheduler = _scheduler(blocks=5)
    first, second = sequence_of(range(50), 10), sequence_of(range(100, 140), 1)
    scheduler.add(first)
    scheduler.add(second)
    _steps(scheduler, 1)
    assert scheduler.running == [first]
    scheduler.abort(first)
    _steps(scheduler, 1)
    assert second.ended


def test_the_youngest_is_preempted_and_still_gives_its_whole_answer() -> None:
    scheduler = _scheduler(blocks=1 + 4, max_sequences=2)
    received: list[list[Token]] = [[], [], []]
    old, young, next_one = requests = [
        sequence_of(range(start, start + 30), answer, tokens)
        for start, answer, tokens in zip((0, 100, 200), (5, 20, 1), received, strict=True)
    ]
    for request in requests:
        scheduler.add(request)
    _steps(scheduler, 4)
    assert scheduler.running == [old]
    assert list(scheduler.waiting) == [young, next_one]
    assert scheduler.preemptions == 1
    run_to_end(scheduler)
    assert [len(tokens) for tokens in received] == [5, 20, 1]
    assert young.cached_tokens == 0, "what it finds of itself when resumed is no hit"
    assert scheduler.storage.counters()["cache_hits_tokens"] == 0


def test_the_last_token_says_length() -> None:
    scheduler = _scheduler()
    received: list[Token] = []
    scheduler.add(sequence_of(range(10), 3, received))
    run_to_end(scheduler)
    assert [token.finish_reason for token in received] == [None, None, "length"]


def test_an_answer_may_stop_by_itself() -> None:
    scheduler = _scheduler()
    received: list[Token] = []
    sequence = sequence_of(range(10), 50, received)
    sequence.answer = iter((Token(" a", 1), Token(" b", 2, "stop")))
    scheduler.add(sequence)
    run_to_end(scheduler)
    assert [token.finish_reason for token in received] == [None, "stop"]


def test_nothing_arrives_after_an_abort_within_a_step() -> None:
    scheduler = _scheduler()
    received: list[Token] = []
    sequence = sequence_of(range(10), 3, received)
    scheduler.add(sequence)
    step = scheduler.plan()
    assert step is not None
    scheduler.abort(sequence)
    scheduler.abort(sequence)
    scheduler.finish(step)
    assert not received
    assert scheduler.plan() is None


def _steps(scheduler: Scheduler, number: int) -> list[Step]:
    steps = []
    for _ in range(number):
        step = scheduler.plan()
        assert step is not None
        scheduler.finish(step)
        steps.append(step)
    return steps


class EngineMachine(RuleBasedStateMachine):
    """Any order of requests, steps and aborts on a pool that is too small for them."""

    @initialize(spare=st.integers(0, 4), max_sequences=st.integers(1, 4))
    def start(self, spare: int, max_sequences: int) -> None:
        self.storage = PagedStorage(1 + CONTEXT // BLOCK_TOKENS + spare, 1)
        self.scheduler = Scheduler(self.storage, max_sequences)
        self.requests: list[Sequence] = []
        self.step: Step | None = None

    @rule(
        family=st.integers(0, 2), shared=st.integers(0, 40), own=st.integers(1, 30), answer=st.integers(1, 26)
    )
    def request(self, family: int, shared: int, own: int, answer: int) -> None:
        prefix = range(1000 * family, 1000 * family + shared)
        number = 10_000 * (1 + len(self.requests))
        sequence = sequence_of([*prefix, *range(number, number + own)], answer)
        self.requests.append(sequence)
        self.scheduler.add(sequence)

    @precondition(lambda self: self.step is None)
    @rule()
    def plan(self) -> None:
        self.step = self.scheduler.plan()
        assert self.step or all(request.ended for request in self.requests)

    @precondition(lambda self: self.step is not None)
    @rule()
    def finish(self) -> None:
        assert self.step is not None
        self.scheduler.finish(self.step)
        self.step = None

    @precondition(lambda self: self.requests)
    @rule(data=st.data())
    def abort(self, data: st.DataObject) -> None:
        self.scheduler.abort(data.draw(st.sampled_from(self.requests)))

    @invariant()
    def every_block_is_free_or_held_by_a_running_request(self) -> None:
        pool = self.storage.pool
        held = Counter(block for request in self.scheduler.running for block in request.blocks)
        assert len(held) == pool.used_blocks
        assert pool.used_blocks + pool.free_blocks == pool.usable_blocks
        assert [pool._holders[block] for block in held] == list(held.values())
        assert all(not request.blocks for request in self.scheduler.waiting)

    @invariant()
    def a_running_request_has_a_place_for_all_it_computed(self) -> None:
        for request in self.scheduler.running:
            assert len(request.blocks) * BLOCK_TOKENS >= request.computed_tokens
            assert len(set(request.blocks)) == len(request.blocks)

    @invariant()
    def cached_tokens_are_whole_blocks_of_the_prompt(self) -> None:
        for request in self.requests:
            assert (request.cached_tokens or 0) % BLOCK_TOKENS == 0
            assert (request.cached_tokens or 0) < request.prompt_tokens

    @invariant()
    def requests_are_waiting_running_or_ended(self) -> None:
        left = [request for request in self.requests if not request.ended]
        assert Counter(left) == Counter([*self.scheduler.running, *self.scheduler.waiting])

    def teardown(self) -> None:
        if not hasattr(self, "scheduler"):
            return
        if self.step is not None:
            self.scheduler.finish(self.step)
        run_to_end(self.scheduler)
        assert self.storage.pool.used_blocks == 0
        assert all(request.ended for request in self.requests)


TestEngineMachine = EngineMachine.TestCase
TestEngineMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
