"""What the tests ask a simulator over HTTP, as an OpenAI client would."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

CHAT = "/v1/chat/completions"
DONE = "[DONE]"


def chat_body(text: str, **fields: Any) -> dict[str, Any]:
    return {"model": "simulated-8b", "messages": [{"role": "user", "content": text}], **fields}


def stream_body(text: str, max_tokens: int, **fields: Any) -> dict[str, Any]:
    usage = {"include_usage": True}
    return chat_body(text, max_tokens=max_tokens, stream=True, stream_options=usage, **fields)


def events_of(response: httpx.Response) -> Iterator[str]:
    for line in response.iter_lines():
        if line.startswith("data: "):
            yield line.removeprefix("data: ")


@dataclass(frozen=True)
class SimulatorClient:
    http: httpx.Client

    def events(self, text: str, max_tokens: int = 4) -> list[str]:
        with self.http.stream("POST", CHAT, json=stream_body(text, max_tokens)) as response:
            assert response.status_code == 200
            return list(events_of(response))

    def usage(self, text: str, max_tokens: int = 4) -> dict[str, Any]:
        usage: dict[str, Any] = json.loads(self.events(text, max_tokens)[-2])["usage"]
        return usage

    @contextmanager
    def endless_answer(self, text: str) -> Iterator[None]:
        """Hold a request that decodes for as long as the block lasts."""
        body = stream_body(text, 100_000, ignore_eos=True)
        with self.http.stream("POST", CHAT, json=body) as response:
            events = events_of(response)  # httpx hangs up when this is collected
            next(events)
            yield

    def device(self) -> dict[str, Any]:
        device: dict[str, Any] = self.http.get("/sim/gpu").json()["devices"][0]
        return device

    def engine(self) -> dict[str, Any]:
        engine: dict[str, Any] = self.http.get("/sim/engine").json()
        return engine

    def wait_until_idle(self) -> dict[str, Any]:
        """Ask until nothing runs or waits; the state after 10 s otherwise."""
        deadline_s = time.monotonic() + 10
        while (engine := self.engine())["running"] + engine["waiting"] and time.monotonic() < deadline_s:
            pass
        return engine
