"""What a chat API's dialect has to say; one module for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kvtop.api.exchange import ChatRequest
from kvtop.api.sse import SseEvent
from kvtop.model.secret import Secret


@dataclass(frozen=True, slots=True)
class Piece:
    """What one stream event, or a whole answer, says."""

    recognised: bool = False
    """Whether it belongs to the dialect at all."""
    has_text: bool = False
    """Whether it carries generated text of any kind."""
    answer: str = ""
    """Visible answer text."""
    finish_reason: str | None = None
    usage: Mapping[str, Any] | None = None
    """Raw usage, as `kvtop.api.usage` reads it."""
    error: Any = None
    """The error it holds, as JSON; None for none."""
    is_done: bool = False
    """Whether it is the mark after the last event."""


class Dialect(Protocol):
    """How one API is asked and how its answers read."""

    @property
    def name(self) -> str:
        """The name that profiles use."""

    @property
    def paths(self) -> Mapping[str, str]:
        """Default paths by name: `chat`, `models`."""

    @property
    def asks_for_usage(self) -> bool:
        """Whether usage in a stream must be asked for, which some servers refuse."""

    def auth_headers(self, key: Secret) -> dict[str, str]:
        """Return the headers that carry the key."""

    def body(self, request: ChatRequest, model: str, *, include_usage: bool) -> dict[str, Any]:
        """Return the request body; the request's `extra_body` is merged on top."""

    def read_event(self, event: SseEvent) -> Piece:
        """Read one stream event. Never raises."""

    def read_answer(self, document: Any) -> Piece:
        """Read the JSON of an answer that was not streamed. Never raises."""
