"""Plain JSON requests beside the measured ones: model lists, token counts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx

from kvtop.api.connection_failures import LOST, connection_failure, timed_out
from kvtop.api.exchange import JsonReply
from kvtop.api.failures import oversized, packed, redirected, refusal, unexpected_answer
from kvtop.api.foreign_json import as_object, parse_json
from kvtop.api.http_body import MAX_BODY_BYTES, encoding_of, read_body

if TYPE_CHECKING:
    from kvtop.api.peer import Peer

_TRIES = 2
"""A kept connection may have been closed by the server; the second try opens a new one."""


async def ask_json(
    http: httpx.AsyncClient, request: httpx.Request, peer: Peer, timeout_s: float
) -> JsonReply:
    """Send `request` and return its parsed answer; whatever goes wrong is the reply's failure."""
    try:
        async with asyncio.timeout(timeout_s):
            return await _ask(http, request, peer, _TRIES)
    except TimeoutError:
        return JsonReply(None, failure=timed_out(timeout_s, peer, begun=False, status=None))


async def _ask(http: httpx.AsyncClient, request: httpx.Request, peer: Peer, tries: int) -> JsonReply:
    try:
        response = await http.send(request, stream=True)
        try:
            return await _read(response, peer)
        finally:
            await response.aclose()
    except LOST as error:
        if tries > 1:
            return await _ask(http, request, peer, tries - 1)
        return JsonReply(None, failure=connection_failure(error, peer))
    except (httpx.HTTPError, OSError) as error:
        return JsonReply(None, failure=connection_failure(error, peer))


async def _read(response: httpx.Response, peer: Peer) -> JsonReply:
    status = response.status_code
    if 300 <= status < 400:
        location = response.headers.get("location", "")
        return JsonReply(status, failure=redirected(status, location, str(response.url), peer))
    body, is_whole = await read_body(response, MAX_BODY_BYTES)
    if not is_whole:
        return JsonReply(status, failure=oversized(status, MAX_BODY_BYTES))
    encoding = encoding_of(response)
    if encoding and status < 400:
        return JsonReply(status, failure=packed(status, encoding, peer))
    data = parse_json(body)
    if status >= 400:
        return JsonReply(status, data, refusal(status, response.headers, body, peer))
    if data is None or as_object(data).get("error"):
        return JsonReply(status, data, unexpected_answer(status, body, peer))
    return JsonReply(status, data)
