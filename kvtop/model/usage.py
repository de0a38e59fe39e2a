"""Token counts as the server reported them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Normalised `usage` of one answer. A count that was not reported is None, never 0."""

    prompt_tokens: int | None = None
    """All input tokens, cached ones included."""
    completion_tokens: int | None = None
    """All output tokens, reasoning included."""
    cached_tokens: int | None = None
    """Input tokens read from the server's prefix cache."""
    cache_write_tokens: int | None = None
    """Input tokens written to the cache, where the provider bills them."""
    reasoning_tokens: int | None = None
    """Output tokens spent on reasoning."""
    source: str | None = None
    """Where the counts come from: `usage`, `timings` (llama.cpp without usage), None when none was sent."""
    flags: tuple[str, ...] = ()
    """Doubts about the counts: `cached_exceeds_prompt`, `hit_miss_mismatch`, `zero_is_ambiguous`,
    `reasoning_added`, `total_exceeds_sum`, `prompt_reported_zero`."""
    raw: Mapping[str, Any] = field(default_factory=dict)
    """The server's own object, untouched."""
