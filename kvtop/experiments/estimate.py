"""What a plan will cost, before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass

from kvtop.api.calibration import CALIBRATION_WORDS
from kvtop.model.endpoint import Price
from kvtop.model.plan import DEFAULT_MAX_TOKENS, ScanPlan

LONGEST_CHOSEN_ANSWER = 512
"""The longest answer that a scan chooses by itself, in tokens."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Upper bounds in tokens; `cost` in `currency`, None without a price."""

    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    currency: str | None

    @property
    def total_tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens


def estimate_scan(plan: ScanPlan, *, local: bool, price: Price | None) -> Estimate:
    """Return what `plan` sends at most: calibration, priming requests and measured cells.

    A local scan without a fixed answer length may choose up to `LONGEST_CHOSEN_ANSWER` tokens.
    """
    longest_answer = LONGEST_CHOSEN_ANSWER if local else DEFAULT_MAX_TOKENS
    answer_tokens = plan.max_tokens or longest_answer
    cells = plan.cells()
    primes = len(cells) if plan.prefix == "reused" else 0
    prompt_tokens = sum(cell.target_tokens for cell in cells) * (2 if primes else 1) + 2 * CALIBRATION_WORDS
    completion_tokens = len(cells) * answer_tokens + primes + 2 * DEFAULT_MAX_TOKENS
    cost = price.cost(prompt_tokens, completion_tokens) if price else None
    currency = price.currency if price and cost is not None else None
    return Estimate(len(cells) + primes + 2, prompt_tokens, completion_tokens, cost, currency)
