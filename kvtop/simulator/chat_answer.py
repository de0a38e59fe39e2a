"""The JSON of a chat completion, whole or in chunks, in the shape of vLLM."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from kvtop.simulator.options import MODEL_ID
from kvtop.simulator.sequence import Sequence


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """Builds the documents of one completion."""

    id: str
    created: int = field(default_factory=lambda: int(time.time()))

    def role_chunk(self) -> dict[str, Any]:
        """Return the first chunk: the role, no text."""
        return self._chunk({"role": "assistant", "content": ""})

    def text_chunk(self, text: str) -> dict[str, Any]:
        """Return a chunk with the text of one token."""
        return self._chunk({"content": text})

    def finish_chunk(self, reason: str) -> dict[str, Any]:
        """Return the chunk that says why the answer ended."""
        return self._chunk({}, reason)

    def usage_chunk(self, usage: dict[str, Any]) -> dict[str, Any]:
        """Return the chunk after the finish chunk: usage and no choice."""
        return {**self._head("chat.completion.chunk"), "choices": [], "usage": usage}

    def completion(self, text: str, reason: str, usage: dict[str, Any]) -> dict[str, Any]:
        """Return the whole answer as one document."""
        message = {"role": "assistant", "content": text, "tool_calls": []}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        return {**self._head("chat.completion"), "choices": [choice], "usage": usage}

    def _chunk(self, delta: dict[str, str], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {**self._head("chat.completion.chunk"), "choices": [choice]}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": MODEL_ID}


def usage_of(sequence: Sequence) -> dict[str, Any]:
    """Return the usage of `sequence`; the details are null without a prefix cache."""
    cached = sequence.cached_tokens
    return {
        "prompt_tokens": sequence.prompt_tokens,
        "total_tokens": len(sequence.tokens),
        "completion_tokens": sequence.generated_tokens,
        "prompt_tokens_details": None if cached is None else {"cached_tokens": cached},
    }
