"""How long an answer must be so that its decode can be measured."""

from __future__ import annotations

import math

from kvtop.model.estimate import LONGEST_CHOSEN_ANSWER
from kvtop.model.plan import DEFAULT_MAX_TOKENS

DECODE_S = 1.2
"""Wanted length of the decode: ten memory samples at 100 ms, with some to spare."""


def choose_answer_tokens(asked: int | None, decode_tok_s: float | None, *, memory_watched: bool) -> int:
    """Return the answer length in tokens.

    What the user asked for wins. Where memory is watched, the decode must last over a second, so the
    measured speed decides, within 64 to 512 tokens. Otherwise 64.
    """
    if asked is not None:
        return asked
    if not memory_watched or decode_tok_s is None:
        return DEFAULT_MAX_TOKENS
    wanted = math.ceil(decode_tok_s * DECODE_S)
    return min(max(wanted, DEFAULT_MAX_TOKENS), LONGEST_CHOSEN_ANSWER)
