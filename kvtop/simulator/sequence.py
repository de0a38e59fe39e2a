"""One request on its way through the engine."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

FinishReason = Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class Token:
    """One generated token. The last one carries the reason why it is the last."""

    text: str
    id: int
    finish_reason: FinishReason | None = None


@dataclass(slots=True, eq=False)
class Sequence:
    """The tokens of one request and what the engine has done with them so far."""

    tokens: array[int]
    """Prompt and generated tokens."""
    prompt_tokens: int
    max_tokens: int
    answer: Iterator[Token]
    """Tokens to generate; one with a finish reason ends the request before `max_tokens`."""
    deliver: Callable[[Token], None]
    computed_tokens: int = 0
    """Tokens whose keys and values are in the cache."""
    cached_tokens: int | None = None
    """Prompt tokens found in the prefix cache when it was first admitted; None: no such cache."""
    blocks: list[int] = field(default_factory=list)
    hashes: list[bytes] = field(default_factory=list)
    """Chained hashes of its whole blocks, as far as they were needed."""
    committed_blocks: int = 0
    """Blocks that were offered to the prefix cache."""
    ended: bool = False

    @property
    def generated_tokens(self) -> int:
        """Tokens generated so far."""
        return len(self.tokens) - self.prompt_tokens

    @property
    def longest_tokens(self) -> int:
        """The most tokens it can come to."""
        return self.prompt_tokens + self.max_tokens
