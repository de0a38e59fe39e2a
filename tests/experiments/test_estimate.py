from __future__ import annotations

import pytest

from kvtop.experiments.estimate import estimate_scan
from kvtop.model.endpoint import Price
from kvtop.model.plan import ScanPlan


def test_only_missing_cells_count_and_a_lost_cold_half_is_primed_again() -> None:
    plan = ScanPlan(lengths=(1000,), repeats=2, prefix="both", max_tokens=10)
    whole = estimate_scan(plan, local=False, price=None)
    rest = estimate_scan(plan, local=False, price=None, finished_cells={"1000/cold/1"})
    assert whole.requests == 2 + 4
    assert rest.requests == 2 + 3 + 1
    assert rest.completion_tokens == 128 + 3 * 10 + 1


@pytest.mark.parametrize(("local", "answer"), [(True, 512), (False, 64)])
def test_an_answer_of_open_length_is_taken_at_its_longest(local: bool, answer: int) -> None:
    plan = ScanPlan(lengths=(1000,), repeats=1)
    assert estimate_scan(plan, local=local, price=None).completion_tokens == 128 + answer


def test_the_cost_is_that_of_all_tokens_uncached() -> None:
    price = Price("CNY", input=2.0, cached_input=0.2, output=8.0)
    estimate = estimate_scan(ScanPlan(lengths=(100_000,), repeats=1), local=False, price=price)
    assert estimate.currency == "CNY"
    expected = (estimate.prompt_tokens * 2.0 + estimate.completion_tokens * 8.0) / 1e6
    assert estimate.cost == pytest.approx(expected)
    assert estimate.total_tokens == estimate.prompt_tokens + estimate.completion_tokens


def test_without_a_price_there_is_no_cost() -> None:
    estimate = estimate_scan(ScanPlan(), local=False, price=Price("EUR"))
    assert (estimate.cost, estimate.currency) == (None, None)


def test_a_calibration_that_is_kept_is_not_counted_again() -> None:
    plan = ScanPlan(lengths=(1000,), repeats=2, max_tokens=10)
    estimate = estimate_scan(plan, local=False, price=None, finished_cells={"1000/cold/1"}, calibrated=True)
    assert (estimate.requests, estimate.prompt_tokens, estimate.completion_tokens) == (1, 1010, 10)
