"""Short ways to ask the raw server."""

from __future__ import annotations

from typing import Any

from kvtop.api.client import ApiClient
from kvtop.api.exchange import ChatRequest, Exchange, Message
from kvtop.model.endpoint import Endpoint
from kvtop.model.secret import Secret
from tests.api.raw_server import RawServer, Step

KEY = "sk-live-0123456789abcdef"
REQUEST = ChatRequest((Message("user", "Hi"),), max_tokens=8)


def endpoint(server: RawServer, **changes: Any) -> Endpoint:
    return Endpoint(
        **{"base_url": server.url, "model": "tiny", "key": Secret(KEY), "key_origin": "env K", **changes}
    )


async def ask(server: RawServer, *steps: Step, timeout_s: float = 30.0, stall_s: float = 30.0) -> Exchange:
    """Play `steps` for one request and return the exchange."""
    server.play(*steps)
    async with ApiClient(endpoint(server), timeout_s=timeout_s, stall_s=stall_s) as client:
        return await client.chat(REQUEST)
