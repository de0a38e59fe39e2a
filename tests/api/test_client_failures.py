"""Answers that do not come, or do not come to their end."""

import asyncio
import gzip
import json
import socket
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvtop.api.client import ApiClient
from kvtop.api.exchange import ChatRequest, Message
from kvtop.model.endpoint import Endpoint
from kvtop.model.failure import KvtopError
from kvtop.model.secret import Secret
from tests.api.asking import KEY, REQUEST, ask, endpoint
from tests.api.raw_server import (
    DONE,
    GOOD,
    STREAM_END,
    STREAM_HEAD,
    End,
    RawServer,
    answer,
    delta,
    event,
    piece,
    streamed,
    usage,
)

GOOD_PACKED = gzip.compress(b'{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}')
HTML = b"<html><head><title>Login</title></head></html>"
ERROR = event({"error": {"message": f"boom {KEY}", "code": 500}})


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        (streamed(delta("a"), delta("b")), "truncated"),
        ((STREAM_HEAD, piece(delta("a")), End.CLOSE), "truncated"),
        (streamed(), "truncated"),
        (streamed(b": keep-alive\n\n"), "truncated"),
        (streamed(delta("a"), ERROR), "in_stream_error"),
        (streamed(delta("a"), b'event: error\ndata: {"message":"x"}\n\n'), "in_stream_error"),
        (streamed(delta("a"), b'error: {"code":500,"message":"x"}\n\n'), "in_stream_error"),
        (streamed(delta("a"), b'{"error":"x"}\n\n', DONE), "in_stream_error"),
        (streamed(delta("a"), delta(finish_reason="stop"), ERROR), "in_stream_error"),
        (streamed(delta("a", finish_reason="error"), DONE), "in_stream_error"),
        (streamed(event({"error": {"code": 429, "message": "slow"}})), "rate_limited"),
        (streamed(DONE), "not_openai"),
        (streamed(b"data: nonsense\n\n", DONE), "not_openai"),
        ((answer(200, HTML, "text/html"),), "not_openai"),
        ((answer(200, b'{"hello":"world"}'),), "not_openai"),
        ((answer(200, b"{"),), "not_openai"),
        ((answer(200, GOOD_PACKED, content_encoding="gzip"),), "packed"),
        ((answer(200, b""),), "not_openai"),
        ((answer(200, b"OK", "text/plain"),), "not_openai"),
        ((answer(200, b'{"base_resp":{"status_code":1008,"status_msg":"x"},"choices":null}'),), "quota"),
        ((answer(401, b'{"error":"Unauthorized"}'),), "auth"),
        ((answer(429, b"{}", retry_after="3"),), "rate_limited"),
        ((answer(502, HTML, "text/html"),), "server_error"),
        ((answer(307, b"", location="https://other.example/v1"),), "redirected"),
        ((answer(307, b"", location="http://[bad"),), "redirected"),
        ((answer(304, b""),), "redirected"),
        ((b"nonsense\r\n\r\n", End.CLOSE), "connection_lost"),
        ((End.CLOSE,), "connection_lost"),
        ((End.RESET,), "connection_lost"),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", End.CLOSE), "connection_lost"),
        ((STREAM_HEAD, b"zz\r\nbad chunk", End.CLOSE), "truncated"),
        ((answer(200, b"\x1f\x8bnonsense", content_encoding="gzip"),), "packed"),
    ],
)
async def test_failures(server: RawServer, steps: tuple[Any, ...], code: str) -> None:
    exchange = await ask(server, *steps)
    assert exchange.failure is not None
    assert exchange.failure.code == code
    assert KEY not in str(exchange)
    assert exchange.end_ts >= exchange.sent_ts


async def test_redirect_is_not_followed(server: RawServer) -> None:
    exchange = await ask(server, answer(307, b"", location=f"{server.url}/elsewhere"))
    assert exchange.failure is not None
    assert "/elsewhere" in exchange.failure.text
    assert len(server.requests) == 1


async def test_truncated_keeps_what_was_measured(server: RawServer) -> None:
    exchange = await ask(server, *streamed(delta("a"), usage(), delta("b")))
    assert exchange.ttft_s is not None
    assert exchange.last_token_s is not None
    assert (exchange.latency_s, exchange.text, exchange.status) == (None, "ab", 200)
    assert exchange.notes == ()


async def test_refusal_keeps_its_latency_and_headers(server: RawServer) -> None:
    exchange = await ask(server, answer(429, b"{}", retry_after="3", x_ratelimit_remaining_tokens="0"))
    assert exchange.failure is not None
    assert (exchange.failure.retry_after_s, exchange.status) == (3.0, 429)
    assert exchange.latency_s is not None
    assert exchange.headers == {"retry-after": "3", "x-ratelimit-remaining-tokens": "0"}


async def test_timeout_before_any_answer(server: RawServer) -> None:
    exchange = await ask(server, asyncio.Event(), timeout_s=0.05)
    assert exchange.failure is not None
    assert exchange.failure.code == "timeout"
    assert exchange.status is None
    assert exchange.end_ts - exchange.sent_ts < 20


async def test_timeout_keeps_the_times_so_far(server: RawServer) -> None:
    exchange = await ask(server, STREAM_HEAD, piece(delta("a")), asyncio.Event(), timeout_s=0.2)
    assert exchange.failure is not None
    assert exchange.failure.code == "timeout"
    assert exchange.ttft_s is not None
    assert exchange.latency_s is None


async def test_stalled_in_the_text(server: RawServer) -> None:
    exchange = await ask(server, STREAM_HEAD, piece(delta("a")), asyncio.Event(), stall_s=0.05)
    assert exchange.failure is not None
    assert exchange.failure.code == "stalled"


async def test_silence_before_the_text_is_no_stall(server: RawServer) -> None:
    role = piece(delta(role="assistant"))
    rest = piece(delta("a", finish_reason="stop") + DONE)
    exchange = await ask(server, STREAM_HEAD, role, 0.1, rest, STREAM_END, stall_s=0.02)
    assert exchange.failure is None


async def test_cancelling_passes_through_and_frees_the_connection(server: RawServer) -> None:
    server.play(STREAM_HEAD, piece(delta("a")), asyncio.Event())
    server.play(*GOOD)
    async with ApiClient(endpoint(server)) as client:
        asking = asyncio.create_task(client.chat(REQUEST))
        await server.receive()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (await client.chat(REQUEST)).failure is None


async def test_nobody_listens() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        async with ApiClient(Endpoint(url, "tiny")) as client:
            exchange = await client.chat(REQUEST)
            models = await client.models()
    assert exchange.failure is not None
    assert exchange.failure.code == "refused"
    assert (exchange.connect_s, exchange.latency_s, exchange.status) == (None, None, None)
    assert models == exchange.failure


async def test_tls_against_a_plain_server(server: RawServer) -> None:
    tls = Endpoint(server.url.replace("http:", "https:"), "tiny")
    async with ApiClient(tls, timeout_s=0.3) as client:
        exchange = await client.chat(REQUEST)
    assert exchange.failure is not None
    assert exchange.failure.code == "timeout"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"base_url": "localhost:8000"}, "bad_url"),
        ({"paths": {"chat": "http://evil.example/v1"}}, "bad_url"),
        ({"dialect": "carrier-pigeon"}, "bad_dialect"),
        ({"key": Secret("sk-live\n")}, "bad_header"),
        ({"key": Secret("sk-ключ")}, "bad_header"),
        ({"headers": {"X Y": "z"}}, "bad_header"),
    ],
)
def test_unusable_endpoints(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(KvtopError) as caught:
        ApiClient(Endpoint(**{"base_url": "http://h", "model": "m", **changes}))
    assert caught.value.failure.code == code
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize("value", [object(), float("nan")])
async def test_extra_body_that_is_not_json(server: RawServer, value: object) -> None:
    async with ApiClient(endpoint(server)) as client:
        exchange = await client.chat(ChatRequest((Message("user", "x"),), 1, extra_body={"a": value}))
    assert exchange.failure is not None
    assert (exchange.failure.code, exchange.attempts) == ("bad_request", 0)
    assert not server.requests


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"data: \x00\x01\xff\n\n", "not_openai"),
        (b"data: " + b"x" * 10_000_000 + b"\n\n", "oversized"),
        (b"data: " + b"[" * 200_000 + b"\n\n", "not_openai"),
        (b"data: {\n\n" * 1000, "not_openai"),
        (b"\x00" * 100_000, "truncated"),
        (event({"choices": {"0": {}}, "usage": [1], "error": []}), "truncated"),
        (event({"choices": [{"delta": {"content": {"a": 1}}, "finish_reason": 7}]}), "truncated"),
    ],
)
async def test_hostile_bytes(server: RawServer, data: bytes, code: str) -> None:
    exchange = await ask(server, STREAM_HEAD, piece(data), STREAM_END)
    assert exchange.failure is not None
    assert exchange.failure.code == code


async def test_endless_body(server: RawServer) -> None:
    exchange = await ask(
        server, STREAM_HEAD.replace(b"text/event-stream", b"application/json"), piece(b"{" * 20_000_000)
    )
    assert exchange.failure is not None
    assert exchange.failure.code == "oversized"


async def test_hostile_headers(server: RawServer) -> None:
    head = STREAM_HEAD.replace(
        b"Server: raw",
        b"Server: \xff\x9b31mred\r\nSet-Cookie: \xff=;;;Domain=[;Expires=x\r\nX-Request-Id: " + KEY.encode(),
    )
    exchange = await ask(server, head, *GOOD[1:])
    assert exchange.failure is None
    assert all(value.isprintable() for value in exchange.headers.values())
    assert KEY not in str(exchange)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "content", "finish_reason", "usage", "prompt_tokens", "error", "message"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents=st.lists(JSON, max_size=3), is_stream=st.booleans(), junk=st.binary(max_size=20))
def test_no_answer_raises(documents: list[Any], junk: bytes, *, is_stream: bool) -> None:
    async def once() -> None:
        async with RawServer() as server:
            if is_stream:
                steps = streamed(*(event(document) for document in documents), junk or b"\n")
            else:
                steps = (answer(200, json.dumps(documents[0] if documents else None).encode() + junk),)
            exchange = await ask(server, *steps)
        assert exchange.failure is None or exchange.failure.code

    asyncio.run(once())
