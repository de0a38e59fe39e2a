"""Asking one endpoint: chats with their times, model lists, plain JSON."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from kvtop.api.attempt import Attempt
from kvtop.api.chat import OpenAiChat
from kvtop.api.exchange import ChatRequest, Exchange, JsonReply, ModelList
from kvtop.api.exchange_of import exchange_of, not_sent
from kvtop.api.json_request import ask_json
from kvtop.api.model_list import read_models
from kvtop.api.peer import Peer
from kvtop.api.transport import Connections
from kvtop.api.url import join_url, root_url
from kvtop.api.usage_refusal import refuses_usage
from kvtop.model.failure import Failure, KvtopError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    import httpx

    from kvtop.api.dialect import Dialect
    from kvtop.model.endpoint import Endpoint

STALL_S = 120.0
"""Silence in the middle of a text after which the answer is given up."""

_DIALECTS: tuple[Dialect, ...] = (OpenAiChat(),)


class ApiClient:
    """Talks to one endpoint. Nothing that the server does raises; it becomes a `Failure`.

    The constructor raises KvtopError: `bad_url`, `bad_header`, `bad_dialect`. Entering raises KvtopError
    with `proxy` or `tls` where the environment's settings are unusable.
    """

    def __init__(
        self, endpoint: Endpoint, *, timeout_s: float = 300.0, connections: int = 1, stall_s: float = STALL_S
    ) -> None:
        self.endpoint = endpoint
        self._dialect = _dialect(endpoint.dialect)
        self._peer = Peer.of(endpoint)
        self._chat_url = self._url("chat")
        self._models_url = self._url("models")
        self._timeout_s = timeout_s
        self._stall_s = stall_s
        self._connection_count = connections
        self._include_usage = self._dialect.asks_for_usage
        headers = self._dialect.auth_headers(endpoint.key) if endpoint.key else {}
        self._connections = Connections(
            endpoint.base_url, headers, endpoint.headers, verify_tls=endpoint.verify_tls, timeout_s=timeout_s
        )

    async def __aenter__(self) -> Self:
        self._connections.prepare(self._connection_count)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._connections.close()

    async def chat(self, request: ChatRequest) -> Exchange:
        """Send one chat and return what came of it.

        Nothing is repeated but what cannot have been measured: a request on a kept connection that the
        server had closed, and one whose `stream_options` the server refused. The clock then starts anew.
        """
        deadline = asyncio.get_running_loop().time() + self._timeout_s
        try:
            content = self._encode(request, include_usage=self._include_usage)
        except (TypeError, ValueError, RecursionError) as error:
            text = f"The request cannot be written as JSON: {error}"
            return not_sent(Failure.of("bad_request", text, "Check extra_body."))
        attempts: list[Attempt] = []
        with self._connections.borrow() as http:
            last = await self._attempt(http, content, deadline, attempts)
            if self._include_usage and refuses_usage(last, self._extra(request)):
                content = self._encode(request, include_usage=False)
                last = await self._attempt(http, content, deadline, attempts)
                refused_again = last.failure is not None and last.failure.code == "bad_request"
                self._include_usage = refused_again
        notes = ("include_usage_refused",) if self._dialect.asks_for_usage and not self._include_usage else ()
        return exchange_of(attempts, self._peer, notes)

    async def models(self) -> ModelList | Failure:
        """Return the models that the server lists, or why it does not."""
        reply = await self._json("GET", self._models_url)
        if reply.failure is not None:
            return reply.failure
        models = read_models(reply.data, self._peer.clean)
        text = "The answer to the model list is not one."
        return models or Failure.of("not_openai", text, "Check base_url.", status=reply.status)

    async def post_json(self, path: str, body: Mapping[str, Any]) -> JsonReply:
        """Post `body` to `path` below the base URL without its trailing `/v1` (where `/tokenize` is)."""
        return await self._json("POST", join_url(root_url(self.endpoint.base_url), path), body)

    async def get_json(self, path: str) -> JsonReply:
        """Get `path` below the base URL without its trailing `/v1`."""
        return await self._json("GET", join_url(root_url(self.endpoint.base_url), path))

    def _url(self, name: str) -> str:
        return join_url(self.endpoint.base_url, self.endpoint.paths.get(name) or self._dialect.paths[name])

    def _extra(self, request: ChatRequest) -> dict[str, Any]:
        return {**self.endpoint.extra_body, **request.extra_body}

    def _encode(self, request: ChatRequest, *, include_usage: bool) -> bytes:
        merged = replace(request, extra_body=self._extra(request))
        body = self._dialect.body(merged, self.endpoint.model, include_usage=include_usage)
        return json.dumps(body, allow_nan=False, separators=(",", ":")).encode()

    async def _attempt(
        self, http: httpx.AsyncClient, content: bytes, deadline: float, attempts: list[Attempt]
    ) -> Attempt:
        attempt = await self._send_once(http, content, deadline, attempts)
        return await self._send_once(http, content, deadline, attempts) if attempt.is_stale else attempt

    async def _send_once(
        self, http: httpx.AsyncClient, content: bytes, deadline: float, attempts: list[Attempt]
    ) -> Attempt:
        attempt = Attempt(self._dialect, self._peer, timeout_s=self._timeout_s, stall_s=self._stall_s)
        attempts.append(attempt)
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
        request = http.build_request("POST", self._chat_url, content=content, headers=headers)
        await attempt.run(http, request, deadline)
        return attempt

    async def _json(self, method: str, url: str, body: Mapping[str, Any] | None = None) -> JsonReply:
        with self._connections.borrow() as http:
            request = http.build_request(method, url, json=body, headers={"Accept": "application/json"})
            return await ask_json(http, request, self._peer, self._timeout_s)


def _dialect(name: str) -> Dialect:
    known = {dialect.name: dialect for dialect in _DIALECTS}
    if name not in known:
        text = f"kvtop cannot measure the dialect {name!r}."
        raise KvtopError(Failure.of("bad_dialect", text, f"Use one of: {', '.join(known)}."))
    return known[name]
