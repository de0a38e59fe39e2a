"""Reading a whole body, but not without bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

MAX_BODY_BYTES = 16 * 1024 * 1024
"""Most of a body that is read in one piece."""


def encoding_of(response: httpx.Response) -> str | None:
    """Return how the body is packed, None where it is not. kvtop asks for bodies as they are."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    return encoding if encoding not in ("", "identity") else None


async def read_body(response: httpx.Response, limit_bytes: int) -> tuple[bytes, bool]:
    """Return the body of `response`, or its first `limit_bytes`, and whether it is whole.

    A packed body is left unread: a few bytes can unpack to more than this host has.
    Raises httpx.HTTPError when the connection breaks.
    """
    if encoding_of(response):
        return b"", True
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > limit_bytes:
            return bytes(body[:limit_bytes]), False
    return bytes(body), True
