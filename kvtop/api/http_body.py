"""Reading a whole body, but not without bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

MAX_BODY_BYTES = 16 * 1024 * 1024
"""Most of a body that is read in one piece."""


async def read_body(response: httpx.Response, limit_bytes: int) -> tuple[bytes, bool]:
    """Return the body of `response`, or its first `limit_bytes`, and whether it is whole.

    Raises httpx.HTTPError when the connection breaks.
    """
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > limit_bytes:
            return bytes(body[:limit_bytes]), False
    return bytes(body), True
