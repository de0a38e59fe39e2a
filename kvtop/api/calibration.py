"""How many words make a prompt of a wanted number of tokens, learned from the server's own counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from kvtop.model.failure import Failure, KvtopError

CALIBRATION_WORDS = 512
"""Body words of the second calibration request: one whole pass, so the slope holds every word once."""

LEARNED_WITHIN = 0.10
"""An answer further off than this share is odd (truncated, other template) and teaches nothing."""

ASSUMED_TEMPLATE_TOKENS = 50
"""Tokens taken for the template and the task line where the server counts nothing."""

_FEWEST_PER_WORD = 0.5
_MOST_PER_WORD = 16.0


@dataclass(frozen=True, slots=True)
class LengthModel:
    """Prompt tokens as a straight line over body words, as one endpoint and model count them."""

    tokens_per_word: float
    template_tokens: float
    """Tokens of a prompt with 0 body words: chat template, head word and task line."""
    weight: float = 0.0
    """How much the learned factor weighs against the next answer; 0 when it is assumed."""

    @property
    def is_assumed(self) -> bool:
        """Whether no count of the server stands behind it; whoever shows a length must say so."""
        return self.weight == 0

    @classmethod
    def from_two(cls, zero_words_tokens: int | None, words: int, tokens: int | None) -> Self:
        """Build the line through two answers: 0 body words, and `words` of them (a whole pass).

        Raises KvtopError with `no_usage` when a count is missing or 0, and with `calibration_odd`
        when the two cannot belong to prompts of 0 and `words` words.
        """
        if not zero_words_tokens or not tokens:
            raise KvtopError(_no_usage(zero_words_tokens, tokens))
        slope = (tokens - zero_words_tokens) / words
        if not is_plausible(slope):
            raise KvtopError(_odd(zero_words_tokens, words, tokens))
        return cls(slope, zero_words_tokens, _weight(words))

    @classmethod
    def assumed(cls) -> Self:
        """Return the line for a server that counts nothing: one token per word."""
        return cls(1.0, ASSUMED_TEMPLATE_TOKENS)

    def tokens_for(self, words: int) -> float:
        """Return the expected prompt tokens of a prompt with `words` body words."""
        return self.template_tokens + self.body_tokens(words)

    def body_tokens(self, words: int) -> float:
        """Return the expected tokens of `words` body words alone, without template and task line."""
        return self.tokens_per_word * words

    def words_for(self, target_tokens: int) -> int:
        """Return the body words whose prompt comes nearest to `target_tokens`.

        Raises KvtopError with `length_too_short` when the template alone is longer.
        """
        if target_tokens < self.template_tokens:
            raise KvtopError(_too_short(target_tokens, self.template_tokens))
        return round((target_tokens - self.template_tokens) / self.tokens_per_word)

    def refined(self, words: int, prompt_tokens: int | None) -> LengthModel:
        """Return the model with one measured answer learned: the factor is the mean of all answers.

        Long prompts and whole passes weigh more, as their factor is the surer one. A missing count
        teaches nothing, nor does one more than 10 % away from what was expected. An assumed model
        expects nothing, so it takes any count that words can have.
        """
        if prompt_tokens is None or not self._teaches(words, prompt_tokens):
            return self
        new = _weight(words)
        total = self.weight + new
        factor = (prompt_tokens - self.template_tokens) / words
        mean = (self.tokens_per_word * self.weight + factor * new) / total
        return LengthModel(mean, self.template_tokens, total)

    def _teaches(self, words: int, prompt_tokens: int) -> bool:
        if words < 1:
            return False
        if self.is_assumed:
            return is_plausible((prompt_tokens - self.template_tokens) / words)
        expected = self.tokens_for(words)
        return abs(prompt_tokens - expected) <= LEARNED_WITHIN * expected


def _weight(words: int) -> float:
    """Return the inverse variance of a factor measured on `words` words, up to a constant.

    The cut last pass is a draw of k out of N words without replacement, whose sum varies by
    k (1 - k / N) of one word's variance; the head words of both prompts add about two words' worth.
    """
    cut = words % CALIBRATION_WORDS
    return words**2 / (cut * (1 - cut / CALIBRATION_WORDS) + 2)


def is_plausible(tokens_per_word: float) -> bool:
    """Return whether words can cost that: less means a cut prompt, more another prompt than ours."""
    return _FEWEST_PER_WORD <= tokens_per_word <= _MOST_PER_WORD


def _no_usage(zero_words_tokens: int | None, tokens: int | None) -> Failure:
    missing = "no prompt tokens" if None in (zero_words_tokens, tokens) else "0 prompt tokens"
    return Failure.of(
        "no_usage",
        f"The server reported {missing} for a calibration request.",
        "Prompt lengths can only be assumed (1 token per word). Let the server send usage, also in streams.",
    )


def _odd(zero_words_tokens: int, words: int, tokens: int) -> Failure:
    cut = tokens < zero_words_tokens + _FEWEST_PER_WORD * words
    hint = (
        "The server seems to cut prompts without saying so; raise its context length (Ollama: num_ctx)."
        if cut
        else "The server counts something else than this prompt; check the gateway in between."
    )
    text = f"{words} more words took the prompt from {zero_words_tokens} to {tokens} tokens, which cannot be."
    return Failure.of("calibration_odd", text, hint)


def _too_short(target_tokens: int, template_tokens: float) -> Failure:
    least = round(template_tokens)
    return Failure.of(
        "length_too_short",
        f"A prompt of {target_tokens} tokens is not possible: chat template and task line take {least}.",
        f"Choose lengths well above {least} tokens.",
    )
