from __future__ import annotations

import io
import sys

import pytest

from kvtop.cli.consent import ask_before_spending, describe
from kvtop.experiments.estimate import Estimate
from kvtop.model.failure import KvtopError

ESTIMATE = Estimate(12, 100_000, 1_000, 1.234, "CNY")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def answer(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(text))


def test_requests_tokens_and_cost_are_named() -> None:
    assert describe(ESTIMATE) == (
        "12 requests, at most 100,000 prompt and 1,000 completion tokens, about CNY 1.23"
    )
    assert "about" not in describe(Estimate(1, 2, 3, None, None))


@pytest.mark.parametrize("text", ["y\n", "YES\n", " y \n"])
def test_a_yes_goes_on(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    answer(monkeypatch, text)
    ask_before_spending(ESTIMATE, costs=True, agreed=False)


@pytest.mark.parametrize("text", ["n\n", "\n", "", "yep\n"])
def test_anything_else_sends_nothing(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    answer(monkeypatch, text)
    with pytest.raises(KvtopError) as caught:
        ask_before_spending(ESTIMATE, costs=True, agreed=False)
    assert caught.value.failure.code == "not_confirmed"


@pytest.mark.parametrize(("costs", "agreed"), [(False, False), (True, True), (False, True)])
def test_nobody_is_asked_where_it_is_free_or_agreed(
    monkeypatch: pytest.MonkeyPatch, costs: bool, agreed: bool
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    ask_before_spending(ESTIMATE, costs=costs, agreed=agreed)
