"""What a plan will cost, before anything is sent."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

from kvtop.model.endpoint import Price
from kvtop.model.plan import DEFAULT_MAX_TOKENS, ScanCell, ScanPlan

LONGEST_CHOSEN_ANSWER = 512
"""The longest answer that a scan chooses by itself, in tokens."""
CALIBRATION_PROMPT_TOKENS = 2048
"""Room for both calibration prompts: 512 words of up to 3 tokens and two chat templates."""
_MOST_OFF = 1.01
"""A prompt may miss its length by 1 %."""


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


def estimate_scan(
    plan: ScanPlan,
    *,
    local: bool,
    price: Price | None,
    finished_cells: Collection[str] = (),
    calibrated: bool = False,
) -> Estimate:
    """Return what `plan` sends at most: calibration, priming requests and the cells not yet finished.

    A resumed run that is `calibrated` keeps what it learned and sends no calibration.
    A local scan without a fixed answer length may choose up to `LONGEST_CHOSEN_ANSWER` tokens. Requests
    that fail and are asked again come on top, as far as they cost anything.
    """
    answer_tokens = plan.max_tokens or (LONGEST_CHOSEN_ANSWER if local else DEFAULT_MAX_TOKENS)
    cells = [cell for cell in plan.cells() if cell.id not in finished_cells]
    primed = [cell for cell in cells if cell.prefix == "reused" and _needs_prime(plan, cell, finished_cells)]
    prompts = [cell.target_tokens for cell in (*cells, *primed)]
    calibrations = 0 if calibrated else 2
    prompt_tokens = sum(math.ceil(tokens * _MOST_OFF) for tokens in prompts)
    prompt_tokens += 0 if calibrated else CALIBRATION_PROMPT_TOKENS
    completion_tokens = len(cells) * answer_tokens + len(primed) + calibrations * DEFAULT_MAX_TOKENS
    cost = price.cost(prompt_tokens, completion_tokens) if price else None
    currency = price.currency if price and cost is not None else None
    return Estimate(len(prompts) + calibrations, prompt_tokens, completion_tokens, cost, currency)


def _needs_prime(plan: ScanPlan, cell: ScanCell, finished_cells: Collection[str]) -> bool:
    return plan.prefix == "reused" or replace(cell, prefix="cold").id in finished_cells
