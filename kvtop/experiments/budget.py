"""A bound on the tokens of a run that is never exceeded."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kvtop.api.calibration import CALIBRATION_WORDS
from kvtop.experiments.unusable import NOT_SENT
from kvtop.model.plan import DEFAULT_MAX_TOKENS, ScanCell
from kvtop.model.record import RequestRecord

# A calibrated prompt is off by up to 1 %; the reserve keeps that from breaking the promise.
_RESERVE = 1.02

CAUTIOUS_TOKENS_PER_WORD = 2.0
"""What a word may cost as long as nobody has counted."""

CAUTIOUS_TEMPLATE_TOKENS = 256.0
"""What chat template and task line may cost as long as nobody has counted."""


@dataclass(slots=True)
class Budget:
    """Tokens spent so far and the most that may be spent, prompt and completion together."""

    limit_tokens: int | None
    spent_tokens: int = 0

    def allows(self, prompt_tokens: float, completion_tokens: int) -> bool:
        """Whether a request of at most this size still fits."""
        if self.limit_tokens is None:
            return True
        return self.spent_tokens + prompt_tokens * _RESERVE + completion_tokens <= self.limit_tokens

    def spend(self, tokens: float) -> None:
        """Count the tokens of a finished request."""
        self.spent_tokens += round(tokens)


def least_budget(cell: ScanCell, max_tokens: int | None, *, calibrated: bool) -> int:
    """Return the tokens that must be left at the start, or `cell`, the first one, is surely not sent.

    Every word is taken for one token, the least it can be; what the requests before really cost comes on
    top. `max_tokens` is the plan's answer length.
    """
    prompts = 2 if cell.prefix == "reused" else 1
    first = prompts * (cell.target_tokens * _RESERVE + (max_tokens or DEFAULT_MAX_TOKENS))
    if calibrated:
        return math.ceil(first)
    calibration = CALIBRATION_WORDS * CAUTIOUS_TOKENS_PER_WORD * _RESERVE + DEFAULT_MAX_TOKENS
    return math.ceil(max(calibration, CALIBRATION_WORDS + first))


def cost_tokens(record: RequestRecord | None, at_most_tokens: int) -> int:
    """Return what a request counts in the budget: what the server reported, else all that was asked for.

    Nothing where it was refused or never left this host. `record` is None for a request whose end
    nobody saw.
    """
    if record is None:
        return at_most_tokens
    if record.prompt_tokens is not None:
        completion_tokens = record.completion_tokens
        return record.prompt_tokens + (
            record.max_tokens or 0 if completion_tokens is None else completion_tokens
        )
    if record.failure is not None and record.failure.code in NOT_SENT:
        return 0
    return 0 if record.status is not None and record.status >= 400 else at_most_tokens
