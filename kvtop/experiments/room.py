"""What fits into the endpoint's context."""

from __future__ import annotations

import math
from dataclasses import dataclass

_MOST_SHORTENED = 0.01
"""A target may give up this share of its length to leave room for the answer."""
_MARGIN = 0.001
_LEAST_MARGIN_TOKENS = 2
"""Tokens by which a calibrated prompt may miss its length."""


def can_fit(target_tokens: int, context_tokens: int | None) -> bool:
    """Whether a prompt of that length, shortened by at most 1 %, leaves a context room for any answer.

    True where the context is not known.
    """
    return context_tokens is None or _least(target_tokens) < context_tokens


def _least(target_tokens: int) -> int:
    return math.ceil(target_tokens * (1 - _MOST_SHORTENED))


@dataclass(slots=True)
class Room:
    """The answer's length and the context that the endpoint names, in tokens; None until it is known."""

    answer_tokens: int
    context_tokens: int | None = None

    def aim(self, target_tokens: int) -> int:
        """Return the prompt length to aim at.

        That is the target, or up to 1 % less where the target is about the whole context, so that the
        answer fits as well.
        """
        if self.context_tokens is None:
            return target_tokens
        room = self.context_tokens - self.answer_tokens
        margin = _LEAST_MARGIN_TOKENS + math.ceil(target_tokens * _MARGIN)
        least = _least(target_tokens)
        if target_tokens <= room - margin or least > room:
            return target_tokens
        return max(room - margin, least)
