"""A bound on the tokens of a run that is never exceeded."""

from __future__ import annotations

from dataclasses import dataclass

# A calibrated prompt is off by up to 1 %; the reserve keeps that from breaking the promise.
_RESERVE = 1.02


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
        """Count a finished request: what it reported, or what was sent where it reported nothing."""
        self.spent_tokens += round(tokens)
