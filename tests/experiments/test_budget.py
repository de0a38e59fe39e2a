from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kvtop.experiments.budget import Budget, cost_tokens, least_budget
from kvtop.experiments.estimate import estimate_scan
from kvtop.model.failure import Failure
from kvtop.model.plan import Prefix, ScanCell
from kvtop.model.record import RequestRecord
from tests.experiments.chat_server import CUT, ChatServer, serving
from tests.experiments.scanning import plan, scan

PREFIXES: tuple[Prefix, ...] = ("cold", "reused", "both")


def record(**changes: Any) -> RequestRecord:
    return RequestRecord("1", "400/cold/1", "cold", 1.0, 2.0, "openai-chat", "m", max_tokens=8, **changes)


@settings(max_examples=25, deadline=None)
@example(budget=115, prefix="cold", tokens_per_word=1.5, reports_usage=True)
@given(
    budget=st.integers(50, 12_000),
    prefix=st.sampled_from(PREFIXES),
    tokens_per_word=st.floats(0.8, 1.9),
    reports_usage=st.booleans(),
)
async def test_the_budget_is_never_exceeded(
    budget: int, prefix: Prefix, tokens_per_word: float, reports_usage: bool
) -> None:
    with serving(tokens_per_word=tokens_per_word, reports_usage=reports_usage) as server:
        outcome, log = await scan(
            server, plan(300, 900, repeats=2, prefix=prefix, max_total_tokens=budget), endpoint={}
        )
    if reports_usage:
        assert server.tokens_spent <= budget
    spent = log.steps[-1][2] if log.steps else 0
    assert spent <= budget
    if outcome.end == "budget" and log.steps:
        assert log.codes[-1] == "budget_reached"


async def test_a_budget_that_is_too_small_for_a_pair_with_its_prime_ends_before_the_prime(
    server: ChatServer,
) -> None:
    _, log = await scan(server, plan(2000, prefix="reused", max_total_tokens=4000))
    assert log.sent == []
    assert log.codes == ["budget_reached"]
    assert "2000/reused/1 does not fit" in log.notes[0]["text"]


async def test_tokens_of_earlier_sessions_count(server: ChatServer) -> None:
    from kvtop.experiments.earlier import Earlier

    outcome, log = await scan(server, plan(400, max_total_tokens=5000), earlier=Earlier(spent_tokens=4900))
    assert outcome.end == "budget"
    assert log.records == []


async def test_a_cut_answer_counts_as_if_it_had_come_whole(server: ChatServer) -> None:
    server.faults[3] = CUT
    _, log = await scan(server, plan(400, repeats=2, max_total_tokens=10_000))
    before, after = log.records[0:2], log.records[2:]
    assert after[0].prompt_tokens is None
    calibration = sum((r.prompt_tokens or 0) + (r.completion_tokens or 0) for r in before)
    assert log.steps[0][2] - calibration == pytest.approx(404, abs=5)


@pytest.mark.parametrize(
    ("seen", "cost"),
    [
        (None, 500),
        (record(prompt_tokens=400, completion_tokens=3), 403),
        (record(prompt_tokens=400), 408),
        (record(status=429, failure=Failure("rate_limited", "")), 0),
        (record(failure=Failure("refused", "")), 0),
        (record(failure=Failure("timeout", "")), 500),
        (record(status=200, failure=Failure("truncated", "")), 500),
    ],
)
def test_what_a_request_counts(seen: RequestRecord | None, cost: int) -> None:
    assert cost_tokens(seen, 500) == cost


def test_without_a_limit_everything_is_allowed() -> None:
    assert Budget(None, 10**12).allows(10**9, 10**9)


@settings(max_examples=15, deadline=None)
@given(
    lengths=st.sets(st.integers(350, 1500), min_size=1, max_size=3),
    repeats=st.integers(1, 2),
    prefix=st.sampled_from(PREFIXES),
    tokens_per_word=st.floats(0.8, 2.5),
    template_tokens=st.integers(0, 200),
)
async def test_the_estimate_is_an_upper_bound(
    lengths: set[int], repeats: int, prefix: Prefix, tokens_per_word: float, template_tokens: int
) -> None:
    wanted = plan(*sorted(lengths), repeats=repeats, prefix=prefix)
    estimate = estimate_scan(wanted, local=True, price=None)
    with serving(tokens_per_word=tokens_per_word, template_tokens=template_tokens) as server:
        _, log = await scan(server, wanted)
    assert len(log.records) == estimate.requests
    assert sum(record.prompt_tokens or 0 for record in log.records) <= estimate.prompt_tokens
    assert sum(record.completion_tokens or 0 for record in log.records) <= estimate.completion_tokens


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("length", [300, 3000])
async def test_below_the_least_budget_nothing_can_be_measured(
    server: ChatServer, prefix: Prefix, length: int
) -> None:
    wanted = plan(length, prefix=prefix)
    least = least_budget(wanted.cells()[0], wanted.max_tokens, calibrated=False)
    _, log = await scan(server, replace(wanted, max_total_tokens=least - 1))
    assert log.sent == []


def test_the_least_budget_of_a_resumed_run_holds_no_calibration() -> None:
    cold, reused = ScanCell(1000, "cold", 1), ScanCell(1000, "reused", 1)
    assert least_budget(cold, 4, calibrated=True) == 1024
    assert least_budget(reused, 4, calibrated=True) == 2048
    assert least_budget(cold, None, calibrated=True) == 1084
