"""What the simulated model says: plain words drawn from a seed and the prompt."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import count
from random import Random
from zlib import crc32

from kvtop.simulator.sequence import Token
from kvtop.simulator.tokenizer import encode

SHORTEST_ANSWER_TOKENS = 512
LONGEST_ANSWER_TOKENS = 1024
"""Bounds of an answer that ends by itself, in tokens."""

_VOCABULARY = """
    the a an of and to in on with from context memory token block cache layer head key value page
    prompt answer model engine device request measure length window batch queue step each every next
    long short large small slow fast first last new old full empty grows holds keeps reads writes
    takes gives counts waits runs ends begins moves fills shares stays returns
"""
_TOKENS = tuple(Token(f" {word}", encode(word)[0]) for word in _VOCABULARY.split())


def answer_to(prompt: array[int], seed: int, *, ignore_end: bool = False) -> Iterator[Token]:
    """Yield the answer's tokens; the same seed and prompt always give the same answer.

    The answer ends by itself after 512 to 1,024 tokens, never when `ignore_end` is set.
    """
    random = Random(f"{seed}:{crc32(prompt.tobytes())}")  # noqa: S311 - a repeatable text, not a secret
    length = random.randint(SHORTEST_ANSWER_TOKENS, LONGEST_ANSWER_TOKENS)
    for position in count(1):
        token = random.choice(_TOKENS)
        if position == length and not ignore_end:
            yield Token(token.text, token.id, "stop")
            return
        yield token
