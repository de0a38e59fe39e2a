"""Where to send requests, with which key, at which price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kvtop.model.secret import Secret

OPENAI_CHAT = "openai-chat"
DIALECTS = (OPENAI_CHAT, "openai-responses", "anthropic-messages")


@dataclass(frozen=True, slots=True)
class Price:
    """Price per million tokens. None where the profile does not say."""

    currency: str = "USD"
    input: float | None = None
    cached_input: float | None = None
    output: float | None = None

    def cost(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float | None:
        """Return the cost of one request in `currency`, or None without prices."""
        if self.input is None or self.output is None:
            return None
        cached_price = self.input if self.cached_input is None else self.cached_input
        fresh = max(prompt_tokens - cached_tokens, 0)
        return (fresh * self.input + cached_tokens * cached_price + completion_tokens * self.output) / 1e6


@dataclass(frozen=True, slots=True)
class EngineHints:
    """What a profile tells about a self-hosted engine."""

    metrics_url: str | None = None
    model_config: str | None = None
    pid: int | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model behind one base URL, ready to be asked. Holds the key; never written to disk."""

    base_url: str
    model: str
    dialect: str = OPENAI_CHAT
    name: str = ""
    """Name of the profile it came from, empty for one given by flags."""
    key: Secret | None = None
    key_origin: str = "none"
    """Where the key came from in words, e.g. `env TAOTOKEN_API_KEY`; never the key."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Paths other than the dialect's own, by name: `chat`, `models`."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    context_window: int | None = None
    price: Price | None = None
    engine: EngineHints = EngineHints()
    verify_tls: bool = True
    simulated: bool = False
    """True for the embedded simulator: every number from it says SIMULATED."""
