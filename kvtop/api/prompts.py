"""Prompts of a wanted number of words that share no beginning with one another.

The words, in `words.txt` beside this file, are 512 of the BIP-39 English word list (bitcoin/bips,
MIT licence): harmless, one token each after a space in the tokenizers of GPT-4o, gpt-oss, Qwen3,
Llama 2 and 3.1, DeepSeek V3, Gemma 3 and Claude, few even for a small vocabulary. No two start with
the same three letters, and at most 26 with the same one.
"""

from __future__ import annotations

import hashlib
import struct
from collections import defaultdict
from functools import lru_cache
from importlib import resources
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PASS_WORDS = 512
"""Words in one pass: a body holds each word once per pass, so all bodies cost nearly the same tokens."""

TAIL_WORDS = 32
"""Words at the end of a body that a reused prompt does not share."""

TASK = (
    "\n\nPay no heed to the words above. Count upward from one, each number written out in words "
    "on a line of its own. Do not stop before you reach one thousand."
)
"""The end of every prompt: a task whose answer is longer than any limit, so that it ends by length."""


@lru_cache(maxsize=1)
def pass_words() -> tuple[str, ...]:
    """Return the fixed set of words, in alphabetical order."""
    text = resources.files("kvtop.api").joinpath("words.txt").read_text("ascii")
    return tuple(text.split())


class PromptWriter:
    """Writes the prompts of one run: the same seed writes the same prompts, on any Python.

    A prompt is a head word, the body, and `TASK`. The body is one shuffled pass of the words after
    another, cut at the wanted number, so two prompts of one length hold nearly the same words. The
    head differs in every request (`ordinal`), so no prompt finds another one's prefix in a cache.
    It is not counted as a body word: a prompt of 0 words has one too, and what it costs belongs to
    the template's share of the tokens.

    Give every request of a run an ordinal of its own, those of the calibration included. Among 512
    ordinals no two prompts share the first word, among 261,632 no two share the first two, and
    neighbours start with different letters. A shorter prompt of the same ordinal is a beginning of
    the longer one.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._heads = _alternating(_shuffled(pass_words(), f"{seed}/letters"))

    def cold(self, ordinal: int, words: int) -> str:
        """Return the prompt of request `ordinal` with `words` body words.

        Raises ValueError when either is negative.
        """
        return _text(self._body(ordinal, words))

    def reused(self, ordinal: int, words: int, variant: int, tail_words: int = TAIL_WORDS) -> str:
        """Return a prompt that goes with `cold(ordinal, words)` up to the last `tail_words` words.

        The tail holds the words of the cold one's tail in another order, so it costs the same
        tokens. It starts with another word than the cold one's, and each variant has its own order.
        With fewer than two different words to reorder, a word of the set takes their place; with no
        body word at all, the prompt is the cold one.
        """
        body = self._body(ordinal, words)
        kept = 1 + shared_words(words, tail_words)
        return _text(body[:kept] + self._other_tail(body[kept:], f"{ordinal}/{words}/{variant}", variant))

    def shared_text(self, ordinal: int, words: int, tail_words: int = TAIL_WORDS) -> str:
        """Return the beginning that `cold(ordinal, words)` and its reused variants have in common."""
        return " ".join(self._body(ordinal, shared_words(words, tail_words)))

    def _body(self, ordinal: int, words: int) -> list[str]:
        if ordinal < 0 or words < 0:
            raise ValueError(f"ordinal {ordinal} and words {words} must not be negative")
        head, second = self._opening(ordinal)
        return [head, *islice(self._passes(ordinal, words, second), words)]

    def _opening(self, ordinal: int) -> tuple[str, str]:
        lap, place = divmod(ordinal, PASS_WORDS)
        step = 1 + lap % (PASS_WORDS - 1)
        return self._heads[place], self._heads[(place + step) % PASS_WORDS]

    def _passes(self, ordinal: int, words: int, second: str) -> Iterator[str]:
        passes = -(-words // PASS_WORDS)
        keys = _keys(f"{self._seed}/{ordinal}/body", passes * PASS_WORDS)
        for start in range(0, len(keys), PASS_WORDS):
            order = _by_keys(pass_words(), keys[start : start + PASS_WORDS])
            if start == 0:
                at = order.index(second)
                order[0], order[at] = order[at], order[0]
            yield from order

    def _other_tail(self, tail: list[str], name: str, variant: int) -> list[str]:
        if not tail:
            return tail
        others = sorted(set(tail) - {tail[0]})
        if not others:
            return self._replacement(tail, variant)
        first = others[variant % len(others)]
        rest = tail.copy()
        rest.remove(first)
        return [first, *_shuffled(rest, f"{self._seed}/{name}/tail")]

    def _replacement(self, tail: list[str], variant: int) -> list[str]:
        place = self._heads.index(tail[0])
        step = 1 + variant % (PASS_WORDS - 1)
        return [self._heads[(place + step) % PASS_WORDS], *tail[1:]]


def shared_words(words: int, tail_words: int = TAIL_WORDS) -> int:
    """Return how many body words a reused prompt shares with its cold one; the head is shared too."""
    return max(words - tail_words, 0)


def _text(body: Sequence[str]) -> str:
    return " ".join(body) + TASK


def _alternating(words: Sequence[str]) -> list[str]:
    """Return the words dealt out letter by letter, so that equal first letters lie far apart."""
    by_letter: dict[str, list[str]] = defaultdict(list)
    for word in words:
        by_letter[word[0]].append(word)
    most = max(len(group) for group in by_letter.values())
    return [group[turn] for turn in range(most) for group in by_letter.values() if turn < len(group)]


def _shuffled(words: Sequence[str], name: str) -> list[str]:
    return _by_keys(words, _keys(name, len(words)))


def _by_keys(words: Sequence[str], keys: Sequence[int]) -> list[str]:
    return [words[place] for place in sorted(range(len(words)), key=keys.__getitem__)]


def _keys(name: str, count: int) -> tuple[int, ...]:
    """Return `count` numbers that depend on `name` alone; sorting by them is a fair shuffle.

    A hash and not `random`, whose shuffle may change between versions of Python.
    """
    digest = hashlib.shake_256(name.encode()).digest(8 * count)
    return struct.unpack(f"<{count}Q", digest)
