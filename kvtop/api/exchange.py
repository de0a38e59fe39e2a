"""What is asked of an endpoint and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kvtop.model.failure import Failure
from kvtop.model.usage import Usage


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to the model."""

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float = 0.0
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Fields sent as they are, on top of everything else."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer, or what became of it. None means not reported or not measured.

    The clock starts when the first byte of the request is handed to an established connection, so
    name lookup, TCP and TLS are apart in `connect_s`. An instant is taken at the read from the socket,
    before anything is decoded; several events in one read have the same instant.
    """

    sent_ts: float
    """Unix time of the sending; of the attempt to connect where nothing was sent."""
    end_ts: float
    """Unix time of the end of the answer, or of giving up."""
    connect_s: float | None = None
    """TCP and TLS set-up; None on a kept connection."""
    headers_s: float | None = None
    first_event_s: float | None = None
    """First event of the stream, whatever it held."""
    ttft_s: float | None = None
    """First generated text: content, reasoning or a tool call."""
    ttft_answer_s: float | None = None
    """First visible answer text."""
    last_token_s: float | None = None
    latency_s: float | None = None
    """Finish reason or last text, whichever came later; the whole body where nothing was streamed.
    None when the answer did not come to its end."""
    text_events: int = 0
    """Stream events that carried generated text."""
    text: str = ""
    """Beginning of the answer text, at most `TEXT_LIMIT` characters, keys removed."""
    usage: Usage | None = None
    finish_reason: str | None = None
    status: int | None = None
    failure: Failure | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """`include_usage_refused`, `retried_stale_connection`, `not_streamed`, `no_done_mark`,
    `no_finish_reason`, `no_text`, `closed_early`, `left_open`."""
    attempts: int = 1

    @property
    def decode_tok_s(self) -> float | None:
        """(completion tokens - 1) / (last token - first token), None where one of them is unknown."""
        tokens = self.usage.completion_tokens if self.usage else None
        if tokens is None or self.ttft_s is None or self.last_token_s is None:
            return None
        decode_s = self.last_token_s - self.ttft_s
        return (tokens - 1) / decode_s if tokens > 1 and decode_s > 0 else None

    @property
    def e2e_tok_s(self) -> float | None:
        """Completion tokens / latency, None where one of them is unknown."""
        tokens = self.usage.completion_tokens if self.usage else None
        return tokens / self.latency_s if tokens is not None and self.latency_s else None


@dataclass(frozen=True, slots=True)
class JsonReply:
    """The answer to a plain JSON request."""

    status: int | None
    data: Any = None
    """The parsed body, None where there is none."""
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One model that a server lists."""

    id: str
    context_tokens: int | None = None
    """Its context as served, in tokens, where the server says."""
    owned_by: str | None = None


@dataclass(frozen=True, slots=True)
class ModelList:
    """The models that a server lists."""

    models: tuple[ModelInfo, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids, in the server's order."""
        return tuple(model.id for model in self.models)

    def context_of(self, model_id: str) -> int | None:
        """Return the context that the server names for `model_id`, in tokens."""
        return next((model.context_tokens for model in self.models if model.id == model_id), None)
