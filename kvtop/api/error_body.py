"""Reading the body of a refusal: every shape that servers and relays put an error in."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass, field
from typing import Any

from kvtop.api.context_limit import ContextLimit
from kvtop.api.foreign_json import as_count, as_list, as_object, as_text, parse_json

_HTML = re.compile(r"\s*<(?:!doctype|html|head|body)", re.IGNORECASE)
_NESTED = re.compile(r"\{\s*\"")
_CODE_KEYS = ("code", "type", "status", "error_type", "object")
_STATUS_KEYS = ("code", "status", "http_status_code", "status_code")
_MAX_DEPTH = 6
_MESSAGE_LIMIT = 4000


@dataclass(slots=True)
class ErrorBody:
    """What a server said about a failure."""

    message: str = ""
    codes: set[str] = field(default_factory=set)
    """Error codes, types and statuses in lower case; MiniMax ones as `minimax:1008`."""
    status: int | None = None
    """An HTTP status that stands in the body."""
    is_html: bool = False
    context: ContextLimit | None = None
    """Context numbers given as fields (llama.cpp)."""


def read_error_body(body: bytes) -> ErrorBody:
    """Read the bytes of an answer that is an error, or that should not have been one."""
    text = body.decode("utf-8", "replace").lstrip("\ufeff")
    if _HTML.match(text):
        return ErrorBody(html.unescape(_title(text)), is_html=True)
    value = parse_json(text)
    return read_error_value(text if value is None else value)


def _title(text: str) -> str:
    """Return the title of a page. One pattern for it would be quadratic on a hostile page."""
    lower = text.lower()
    tag = lower.find("<title")
    start = lower.find(">", tag)
    end = lower.find("</title", start)
    return text[start + 1 : end] if -1 < tag < start < end else ""


def read_error_value(value: Any) -> ErrorBody:
    """Read an error that was parsed already: an object, a list, a string, anything."""
    body = ErrorBody()
    body.message = _read(value, body, 0)[:_MESSAGE_LIMIT].strip()
    _unwrap(body)
    return body


def _read(value: Any, body: ErrorBody, depth: int) -> str:
    if depth > _MAX_DEPTH:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return _read_list(value, body, depth + 1)
    if isinstance(value, dict):
        _gather(value, body)
        return _read_object(value, body, depth + 1)
    return ""


def _read_list(items: list[Any], body: ErrorBody, depth: int) -> str:
    complaints = [_complaint(as_object(item)) for item in items[:5]]
    told = "; ".join(text for text in complaints if text)
    return told or (_read(items[0], body, depth) if items else "")


def _complaint(item: dict[str, Any] | Any) -> str:
    """One entry of FastAPI's list of invalid fields."""
    place = ".".join(str(part) for part in as_list(item.get("loc"))[:8])
    message = as_text(item.get("msg"))
    return f"{place}: {message}" if place and message else message


def _read_object(value: dict[str, Any], body: ErrorBody, depth: int) -> str:
    base = as_object(value.get("base_resp"))
    metadata = as_object(value.get("metadata"))
    candidates = (
        value.get("error"),
        value.get("message"),
        value.get("msg"),
        base.get("status_msg"),
        value.get("errors"),
        value.get("detail"),
        value.get("error_msg"),
        value.get("err"),
    )
    message = next((text for text in (_read(item, body, depth) for item in candidates) if text), "")
    upstream = _read(metadata.get("raw"), body, depth)
    return f"{message}: {upstream}" if message and upstream and upstream != message else message or upstream


def _gather(value: dict[str, Any], body: ErrorBody) -> None:
    body.codes.update(as_text(value.get(key)).lower()[:80] for key in _CODE_KEYS)
    body.codes.discard("")
    statuses = (_http_status(value.get(key)) for key in _STATUS_KEYS)
    body.status = body.status or next((status for status in statuses if status), None)
    minimax = as_count(as_object(value.get("base_resp")).get("status_code"))
    if minimax:
        body.codes.add(f"minimax:{minimax}")
    limit, asked = as_count(value.get("n_ctx")), as_count(value.get("n_prompt_tokens"))
    if limit is not None:
        body.context = ContextLimit(limit, asked)


def _http_status(value: Any) -> int | None:
    number = int(value) if isinstance(value, str) and re.fullmatch(r"[45]\d\d", value) else as_count(value)
    return number if number is not None and 400 <= number < 600 else None


def _unwrap(body: ErrorBody) -> None:
    """Replace a message that holds the upstream server's JSON by what that JSON says."""
    opening = _NESTED.search(body.message)
    if not opening:
        return
    start = opening.start()
    try:
        inner, _ = json.JSONDecoder().raw_decode(body.message, start)
    except (ValueError, RecursionError):
        return
    told = _read(inner, body, 0).strip()
    if told:
        lead = body.message[:start].rstrip(" -:\n")
        body.message = f"{lead}: {told}" if lead else told
