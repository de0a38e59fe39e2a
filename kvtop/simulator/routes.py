"""What each path answers."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

from kvtop.simulator import tokenizer
from kvtop.simulator.chat_answer import ChatAnswer, usage_of
from kvtop.simulator.chat_request import (
    ChatRequest,
    check_model,
    read_chat,
    read_messages,
    read_object,
)
from kvtop.simulator.device import SimulatedGpu
from kvtop.simulator.engine import Engine, GeneratedAnswer
from kvtop.simulator.http_connection import HttpConnection, HttpRequest
from kvtop.simulator.kv_model import SIMULATED_8B
from kvtop.simulator.options import MODEL_ID, SimulatorOptions
from kvtop.simulator.refusal import Refusal, bad_request

Route = Callable[[HttpConnection, HttpRequest], Awaitable[None]]


class Routes:
    """The engine's paths and the device's, by method."""

    def __init__(self, options: SimulatorOptions, engine: Engine, gpu: SimulatedGpu) -> None:
        self._options = options
        self._engine = engine
        self._gpu = gpu
        self._started_ts = int(time.time())
        self._ids = count(1)
        self._routes: dict[str, tuple[str, Route]] = {
            "/v1/chat/completions": ("POST", self._chat),
            "/v1/models": ("GET", self._models),
            "/health": ("GET", self._health),
            "/tokenize": ("POST", self._tokenize),
            "/sim/gpu": ("GET", self._sim_gpu),
            "/sim/engine": ("GET", self._sim_engine),
        }

    async def answer(self, connection: HttpConnection, request: HttpRequest) -> None:
        """Answer one request. Raises ConnectionError when the client is gone."""
        method, route = self._routes.get(request.path, ("", None))
        if route is None:
            await connection.send_json(404, {"detail": "Not Found"})
        elif method != request.method:
            await connection.send_json(405, {"detail": "Method Not Allowed"})
        else:
            await self._try(route, connection, request)

    async def _try(self, route: Route, connection: HttpConnection, request: HttpRequest) -> None:
        try:
            await route(connection, request)
        except Refusal as refusal:
            await connection.send_json(refusal.status, refusal.body)

    async def _chat(self, connection: HttpConnection, request: HttpRequest) -> None:
        chat = read_chat(request.body, self._options.context)
        answer = ChatAnswer(f"chatcmpl-sim-{next(self._ids):08x}")
        with self._engine.answering(chat.prompt, chat.max_tokens, ignore_end=chat.ignore_end) as generated:
            if chat.stream:
                await _stream(connection, chat, answer, generated)
            else:
                await _complete(connection, answer, generated)

    async def _models(self, connection: HttpConnection, request: HttpRequest) -> None:  # noqa: ARG002
        card = {
            "id": MODEL_ID,
            "object": "model",
            "created": self._started_ts,
            "owned_by": "kvtop-simulator",
            "root": MODEL_ID,
            "parent": None,
            "max_model_len": self._options.context,
        }
        await connection.send_json(200, {"object": "list", "data": [card]})

    async def _health(self, connection: HttpConnection, request: HttpRequest) -> None:  # noqa: ARG002
        await connection.send_body(200, b"")

    async def _tokenize(self, connection: HttpConnection, request: HttpRequest) -> None:
        document = read_object(request.body)
        check_model(document)
        ids, texts = _tokens_of(document)
        answer = {
            "count": len(ids),
            "max_model_len": self._options.context,
            "tokens": list(ids),
            "token_strs": texts if document.get("return_token_strs") is True else None,
        }
        await connection.send_json(200, answer)

    async def _sim_gpu(self, connection: HttpConnection, request: HttpRequest) -> None:  # noqa: ARG002
        await connection.send_json(200, self._gpu.reading(time.monotonic()))

    async def _sim_engine(self, connection: HttpConnection, request: HttpRequest) -> None:  # noqa: ARG002
        scheduler = self._engine.scheduler
        answer = {
            "source": "simulated",
            "engine": self._options.engine,
            "model": MODEL_ID,
            "kv_bytes_per_token": SIMULATED_8B.bytes_per_token,
            "max_seqs": self._options.max_seqs,
            "running": len(scheduler.running),
            "waiting": len(scheduler.waiting),
            "preemptions": scheduler.preemptions,
            **scheduler.storage.counters(),
        }
        await connection.send_json(200, answer)


def _tokens_of(document: dict[str, Any]) -> tuple[Any, list[str] | None]:
    if "messages" in document:
        opens = document.get("add_generation_prompt", True) is not False
        return tokenizer.encode_chat(read_messages(document), open_answer=opens), None
    prompt = document.get("prompt")
    if not isinstance(prompt, str):
        raise bad_request("prompt should be a text", "prompt")
    return tokenizer.encode(prompt), tokenizer.split(prompt)


async def _complete(connection: HttpConnection, answer: ChatAnswer, generated: GeneratedAnswer) -> None:
    texts = []
    while True:
        token = await generated.tokens.get()
        texts.append(token.text)
        if token.finish_reason:
            break
    usage = usage_of(generated.sequence)
    await connection.send_json(200, answer.completion("".join(texts), token.finish_reason, usage))


async def _stream(
    connection: HttpConnection, chat: ChatRequest, answer: ChatAnswer, generated: GeneratedAnswer
) -> None:
    await connection.start_events()
    token = await generated.tokens.get()
    await connection.send_event(json.dumps(answer.role_chunk()))
    while True:
        await connection.send_event(json.dumps(answer.text_chunk(token.text)))
        if token.finish_reason:
            break
        token = await generated.tokens.get()
    await connection.send_event(json.dumps(answer.finish_chunk(token.finish_reason)))
    if chat.include_usage:
        await connection.send_event(json.dumps(answer.usage_chunk(usage_of(generated.sequence))))
    await connection.send_event("[DONE]")
    await connection.end_events()
