"""The OpenAI chat completions dialect, as its many imitators speak it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kvtop.api.dialect import Piece
from kvtop.api.exchange import ChatRequest
from kvtop.api.foreign_json import as_count, as_list, as_object, as_text, parse_json
from kvtop.api.sse import SseEvent
from kvtop.api.usage import find_usage
from kvtop.model.endpoint import OPENAI_CHAT
from kvtop.model.secret import Secret

_DONE = "[DONE]"
_ANSWER_KEYS = ("content", "refusal")
_THOUGHT_KEYS = ("reasoning", "reasoning_content", "reasoning_text", "thinking")
_ERROR_KEYS = ("message", "msg", "detail", "errors")


class OpenAiChat:
    """`POST /v1/chat/completions`."""

    name = OPENAI_CHAT
    paths: Mapping[str, str] = MappingProxyType({"chat": "/v1/chat/completions", "models": "/v1/models"})
    asks_for_usage = True

    def auth_headers(self, key: Secret) -> dict[str, str]:
        """Return the bearer header."""
        return {"Authorization": f"Bearer {key.reveal()}"}

    def body(self, request: ChatRequest, model: str, *, include_usage: bool) -> dict[str, Any]:
        """Return the request body; the request's `extra_body` is merged on top."""
        body: dict[str, Any] = {
            "model": model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "stream": True,
        }
        if include_usage:
            body["stream_options"] = {"include_usage": True}
        return {**body, **request.extra_body}

    def read_event(self, event: SseEvent) -> Piece:
        """Read one chunk, the end mark or an error event."""
        data = event.data.strip()
        if data == _DONE:
            return Piece(is_done=True)
        document = parse_json(data)
        if event.name == "error":
            return Piece(error=data if document is None else document)
        # Most chunks hold no usage, and looking for it in all its places costs more than reading the rest.
        may_have_usage = "usage" in data or "timings" in data
        return _read(document, "delta", may_have_usage=may_have_usage)

    def read_answer(self, document: Any) -> Piece:
        """Read a whole `chat.completion`."""
        return _read(document, "message", may_have_usage=True)


def _read(document: Any, carrier: str, *, may_have_usage: bool) -> Piece:
    if not isinstance(document, dict):
        return Piece()
    error = _error(document)
    if error is not None:
        return Piece(error=error)
    choices = [as_object(choice) for choice in as_list(document.get("choices"))]
    deltas = [_delta(choice, carrier) for choice in choices]
    answer = "".join(_answer(delta) for delta in deltas)
    usage = find_usage(document) if may_have_usage else None
    reasons = (as_text(choice.get("finish_reason")) for choice in choices)
    return Piece(
        recognised="choices" in document or usage is not None,
        has_text=bool(answer) or any(_has_hidden_text(delta) for delta in deltas),
        answer=answer,
        finish_reason=next((reason for reason in reasons if reason), None),
        usage=usage,
    )


def _error(document: dict[str, Any]) -> Any:
    """The error in a chunk: an `error` member, SGLang's flat object, MiniMax's base_resp, a bare message."""
    if document.get("error"):
        return document
    if document.get("object") == "error" or as_count(as_object(document.get("base_resp")).get("status_code")):
        return document
    if "choices" not in document and any(document.get(key) for key in _ERROR_KEYS):
        return document
    return None


def _delta(choice: Mapping[str, Any], carrier: str) -> Mapping[str, Any]:
    delta = as_object(choice.get(carrier)) or as_object(choice.get("message"))
    return delta or {"content": choice.get("text")}


def _answer(delta: Mapping[str, Any]) -> str:
    return "".join(_visible(delta.get(key)) for key in _ANSWER_KEYS)


def _visible(content: Any) -> str:
    """Text of a content that is a string or, at Mistral and others, a list of typed parts."""
    if isinstance(content, str):
        return content
    parts = (as_object(part) for part in as_list(content))
    return "".join(as_text(part.get("text")) for part in parts)


def _has_hidden_text(delta: Mapping[str, Any]) -> bool:
    if any(as_text(delta.get(key)) for key in _THOUGHT_KEYS):
        return True
    if any(as_object(part).get("thinking") for part in as_list(delta.get("content"))):
        return True
    calls = [*as_list(delta.get("tool_calls")), {"function": delta.get("function_call")}]
    return any(_names_or_argues(as_object(as_object(call).get("function"))) for call in calls)


def _names_or_argues(function: Mapping[str, Any]) -> bool:
    return bool(as_text(function.get("name")) or as_text(function.get("arguments")))
