"""Response headers worth keeping with a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvtop.api.peer import Peer

_NAMES = frozenset(
    {
        "server", "via", "retry-after", "retry-after-ms", "openai-processing-ms", "openai-version",
        "x-request-id", "request-id", "x-oneapi-request-id", "apim-request-id", "cf-ray",
    }
)  # fmt: skip
_PREFIXES = ("x-ratelimit-", "anthropic-ratelimit-")
_MAX_HEADERS = 32
_MAX_VALUE = 200


def kept_headers(headers: Iterable[tuple[str, str]], peer: Peer) -> dict[str, str]:
    """Return request ids, rate limits and the server's name, names in lower case, values cleaned."""
    kept: dict[str, str] = {}
    for name, value in headers:
        lower = name.lower()
        if (lower in _NAMES or lower.startswith(_PREFIXES)) and len(kept) < _MAX_HEADERS:
            kept[peer.clean(lower)] = peer.clean(value, _MAX_VALUE)
    return kept
