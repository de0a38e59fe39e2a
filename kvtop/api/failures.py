"""Failures out of what a server answered: code, words for the user, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from kvtop.api.error_body import ErrorBody, read_error_body, read_error_value
from kvtop.api.error_class import classify, context_limit_of
from kvtop.api.retry_after import retry_after_s
from kvtop.model.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvtop.api.peer import Peer

_WHAT = {
    "auth": "The server refused the key",
    "model_not_found": "The server does not have the model {model!r}",
    "context_length": "The prompt is too long for the model",
    "rate_limited": "The server limits the rate of requests",
    "quota": "The account has no quota left",
    "overloaded": "The server is overloaded or not ready",
    "request_too_large": "The request has too many bytes for the server",
    "path_not_found": "The server knows no such path",
    "bad_request": "The server did not accept the request",
    "server_error": "The server failed",
    "not_openai": "The answer is not an OpenAI chat completion",
    "in_stream_error": "The server reported an error inside the stream",
}
_HINT = {
    "auth": "Check the key (from: {key_origin}) and that it belongs to {where}.",
    "model_not_found": "The server's /v1/models lists what it has; ids are case-sensitive.",
    "context_length": "Ask for shorter prompts, or start the engine with a larger context.",
    "rate_limited": "Wait, lower the concurrency, or ask the provider for a higher limit.",
    "quota": "Top up the account or wait for the next quota period; trying again does not help.",
    "overloaded": "Wait until the engine has loaded its model or has room, then try again.",
    "request_too_large": "A proxy before the model may bound the body size; ask for shorter prompts.",
    "path_not_found": "Check base_url and, where the provider differs from OpenAI, [paths] in the profile.",
    "bad_request": "Check the fields in extra_body and the model's limits.",
    "server_error": "See the server's own log; a gateway may have given up waiting for the model.",
    "not_openai": "Check base_url: a web page, a login or another API answers there.",
    "in_stream_error": "See the server's own log.",
}
_VAGUE_IN_STREAM = {"bad_request", "server_error", "path_not_found", "request_too_large", "not_openai"}


def refusal(status: int, headers: Mapping[str, str], body: bytes, peer: Peer) -> Failure:
    """Return the failure that an answer with an error status (400 and above) is."""
    told = read_error_body(body)
    return _failure(classify(status, told), told, peer, status=status, retry_after_s=retry_after_s(headers))


def unexpected_answer(status: int, body: bytes, peer: Peer) -> Failure:
    """Return the failure that an answer with a good status is whose body is an error, HTML or other JSON."""
    told = read_error_body(body)
    code = classify(status, told)
    return _failure("not_openai" if code == "in_stream_error" else code, told, peer, status=status)


def in_stream_error(error: Any, status: int | None, peer: Peer) -> Failure:
    """Return the failure that an error object inside a stream is. `error` is any JSON value."""
    told = read_error_value(error)
    code = classify(None, told)
    return _failure("in_stream_error" if code in _VAGUE_IN_STREAM else code, told, peer, status=status)


def redirected(status: int, location: str, url: str, peer: Peer) -> Failure:
    """Return the failure that a redirect is: the key goes to nobody but the profile's own origin."""
    target = _target(url, location)
    return Failure.of(
        "redirected",
        f"{peer.where} redirects to {peer.clean(target)} (HTTP {status}).",
        "kvtop does not follow: the key is for this server only. Change base_url if you trust the other.",
        status=status,
    )


def _target(url: str, location: str) -> str:
    try:
        parts = urlsplit(urljoin(url, location))
    except ValueError:
        return "an invalid address"
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if location and host else "nowhere"


def truncated(status: int | None) -> Failure:
    """Return the failure of a stream that ended without finish reason and without end mark."""
    return Failure.of(
        "truncated",
        "The stream ended without finish reason and without end mark: part of the answer is missing.",
        "A proxy or the engine cut the connection; see their logs and time limits.",
        status=status,
    )


def packed(status: int | None, encoding: str, peer: Peer) -> Failure:
    """Return the failure of a packed answer, which kvtop does not ask for and does not unpack."""
    return Failure.of(
        "packed",
        f"The server packed its answer ({peer.clean(encoding, 40)}), although it was asked not to.",
        "Switch compression off in the server or the proxy before it: it delays tokens as well.",
        status=status,
    )


def oversized(status: int | None, limit_bytes: int) -> Failure:
    """Return the failure of an answer, a line or an event that is larger than kvtop reads."""
    return Failure.of(
        "oversized",
        f"The server sent more than {limit_bytes:,} bytes in one piece.",
        "Check that base_url leads to a chat API.",
        status=status,
    )


def _failure(code: str, told: ErrorBody, peer: Peer, **details: Any) -> Failure:
    words = {"model": peer.model, "key_origin": peer.key_origin, "where": peer.where}
    what = _WHAT[code].format(**words)
    status = details.get("status")
    number = f" (HTTP {status})" if status and status != 200 else ""
    said = peer.clean(told.message)
    limit = context_limit_of(told) if code == "context_length" else None
    return Failure.of(
        code,
        f"{what}{number}: {said}" if said else f"{what}{number}.",
        _HINT[code].format(**words),
        limit_tokens=limit.limit_tokens if limit else None,
        asked_tokens=limit.asked_tokens if limit else None,
        **details,
    )
