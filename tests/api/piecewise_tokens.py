"""A made-up tokenizer that splits words: what a small vocabulary does to a prompt's length."""

from __future__ import annotations

import re
import zlib

TEMPLATE_TOKENS = 9

# The spread (mean 2, deviation 0.8) that a byte-pair vocabulary of 8,192 shows on the same words.
WORD_COSTS = (1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 4)


def count_tokens(prompt: str) -> int:
    """Return the tokens of `prompt` in a chat template.

    A word costs one to four tokens, and may cost others without a space before it.
    """
    pieces = re.findall(r"\n+| ?[A-Za-z]+|[^A-Za-z\n]", prompt)
    return TEMPLATE_TOKENS + sum(_tokens_of(piece) for piece in pieces)


def _tokens_of(piece: str) -> int:
    if not piece.strip().isalpha():
        return 1
    return WORD_COSTS[zlib.crc32(piece.encode()) % len(WORD_COSTS)]
