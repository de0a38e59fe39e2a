"""Reading of request bodies. Whatever they hold, the outcome is a request or a `Refusal`."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvtop.simulator.options import MODEL_ID
from kvtop.simulator.refusal import Refusal, bad_request, too_long, unknown_model
from kvtop.simulator.tokenizer import Message, encode_chat


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A chat completion that can be served."""

    prompt: array[int]
    max_tokens: int
    stream: bool
    include_usage: bool
    ignore_end: bool


def read_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in `body`. Raises Refusal when there is none."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "Bad Request", f"JSON decode error: {error}") from error
    if not isinstance(document, dict):
        raise Refusal(400, "Bad Request", "Input should be a valid dictionary")
    return document


def read_chat(body: bytes, context: int) -> ChatRequest:
    """Return the chat completion asked for. Raises Refusal when it cannot be served."""
    document = read_object(body)
    check_model(document)
    if document.get("n") not in (None, 1):
        raise bad_request("Only n=1 is supported.", "n")
    stream = _flag(document, "stream")
    prompt = encode_chat(read_messages(document))
    return ChatRequest(
        prompt=prompt,
        max_tokens=_max_tokens(document, context, len(prompt)),
        stream=stream,
        include_usage=_include_usage(document, stream),
        ignore_end=_flag(document, "ignore_eos"),
    )


def check_model(document: Mapping[str, Any]) -> None:
    """Raise Refusal when `document` names another model."""
    model = document.get("model")
    if model not in (None, MODEL_ID):
        raise unknown_model(model)


def read_messages(document: Mapping[str, Any]) -> list[Message]:
    """Return the chat's messages, its tools as the first one. Raises Refusal when they are not usable."""
    messages = document.get("messages")
    if not isinstance(messages, list) or not messages:
        raise bad_request("messages should be a list of at least one message", "messages")
    tools = document.get("tools")
    head = [Message("tools", _compact(tools))] if tools else []
    return head + [_message(entry) for entry in messages]


def _message(entry: object) -> Message:
    if not isinstance(entry, dict) or not isinstance(entry.get("role"), str):
        raise bad_request("each message should be an object with a role", "messages")
    text = _text(entry.get("content"))
    calls = entry.get("tool_calls")
    return Message(entry["role"], f"{text}\n{_compact(calls)}" if calls else text)


def _text(content: object) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_part(part) for part in content)
    raise bad_request("content should be a text or a list of text parts", "messages")


def _part(part: object) -> str:
    if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
        text: str = part["text"]
        return text
    raise bad_request("the simulator reads text parts only", "messages")


def _compact(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError as error:
        raise bad_request("tools are nested too deeply", "tools") from error


def _flag(document: Mapping[str, Any], name: str) -> bool:
    value = document.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise bad_request(f"{name} should be a boolean", name)
    return value


def _include_usage(document: Mapping[str, Any], stream: bool) -> bool:  # noqa: FBT001 - what was asked for
    options = document.get("stream_options")
    if options is None:
        return False
    if not stream:
        raise bad_request("Stream options can only be defined when `stream=True`.", "stream_options")
    if not isinstance(options, dict):
        raise bad_request("stream_options should be an object", "stream_options")
    return _flag(options, "include_usage")


def _max_tokens(document: Mapping[str, Any], context: int, prompt_tokens: int) -> int:
    name = "max_completion_tokens" if document.get("max_completion_tokens") is not None else "max_tokens"
    wanted = document.get(name)
    if wanted is None:
        wanted = max(context - prompt_tokens, 1)
    if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted < 1:
        raise bad_request(f"{name} must be a whole number of at least 1.", name)
    if prompt_tokens + wanted > context:
        raise too_long(context, prompt_tokens, wanted)
    return wanted
