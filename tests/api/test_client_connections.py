"""Kept, stale and parallel connections; retries; proxies."""

import asyncio
from typing import Any

import pytest

from kvtop.api.client import ApiClient
from kvtop.api.exchange import ChatRequest, Message
from kvtop.model.endpoint import Endpoint
from kvtop.model.failure import KvtopError
from tests.api.asking import REQUEST, endpoint
from tests.api.raw_server import DONE, GOOD, STREAM_HEAD, End, RawServer, answer, delta, piece, streamed

REFUSED = {
    "openai": (400, b'{"error":{"message":"Unknown parameter: \'stream_options\'."}}'),
    "pydantic": (422, b'{"detail":[{"loc":["body","stream_options"],"msg":"extra fields not permitted"}]}'),
    "nameless": (400, b'{"error":"Unrecognized request argument supplied"}'),
}


async def test_connection_is_kept(server: RawServer) -> None:
    for _ in range(3):
        server.play(*GOOD)
    async with ApiClient(endpoint(server)) as client:
        exchanges = [await client.chat(REQUEST) for _ in range(3)]
    assert [exchange.connect_s is None for exchange in exchanges] == [False, True, True]
    assert server.connections == 1


async def test_error_answers_keep_the_connection_too(server: RawServer) -> None:
    server.play(answer(429, b"{}"))
    server.play(*GOOD)
    async with ApiClient(endpoint(server)) as client:
        await client.chat(REQUEST)
        assert (await client.chat(REQUEST)).connect_s is None


@pytest.mark.parametrize("end", [End.CLOSE, End.RESET])
async def test_stale_connection_is_tried_again_once(server: RawServer, end: End) -> None:
    server.play(*GOOD)
    server.play(end)
    server.play(*GOOD)
    async with ApiClient(endpoint(server)) as client:
        await client.chat(REQUEST)
        exchange = await client.chat(REQUEST)
    assert exchange.failure is None
    assert (exchange.attempts, exchange.notes) == (2, ("retried_stale_connection",))
    assert exchange.connect_s is not None
    assert len(server.requests) == 3


async def test_fresh_connection_is_not_tried_again(server: RawServer) -> None:
    server.play(End.CLOSE)
    async with ApiClient(endpoint(server)) as client:
        exchange = await client.chat(REQUEST)
    assert exchange.failure is not None
    assert (exchange.failure.code, exchange.attempts, len(server.requests)) == ("connection_lost", 1, 1)


async def test_kept_connection_lost_after_the_headers_is_not_tried_again(server: RawServer) -> None:
    server.play(*GOOD)
    server.play(STREAM_HEAD, piece(delta("a")), End.CLOSE)
    async with ApiClient(endpoint(server)) as client:
        await client.chat(REQUEST)
        exchange = await client.chat(REQUEST)
    assert exchange.failure is not None
    assert (exchange.failure.code, exchange.attempts) == ("truncated", 1)


@pytest.mark.parametrize("refusal", REFUSED.values(), ids=REFUSED)
async def test_usage_refused_is_asked_without_and_remembered(
    server: RawServer, refusal: tuple[int, bytes]
) -> None:
    server.play(answer(*refusal))
    server.play(*GOOD)
    server.play(*GOOD)
    async with ApiClient(endpoint(server)) as client:
        first, second = await client.chat(REQUEST), await client.chat(REQUEST)
    assert first.failure is None
    assert (first.attempts, second.attempts) == (2, 1)
    assert first.notes == second.notes == ("include_usage_refused",)
    assert ["stream_options" in request.json for request in server.requests] == [True, False, False]


async def test_refused_for_another_reason_is_not_remembered(server: RawServer) -> None:
    server.play(answer(*REFUSED["nameless"]))
    server.play(answer(*REFUSED["nameless"]))
    server.play(*GOOD)
    async with ApiClient(endpoint(server)) as client:
        first, second = await client.chat(REQUEST), await client.chat(REQUEST)
    assert first.failure is not None
    assert (first.attempts, first.notes) == (2, ())
    assert second.notes == ()
    assert "stream_options" in server.requests[2].json


@pytest.mark.parametrize(
    ("status", "message", "extra"),
    [
        (400, "Unrecognized request argument: top_k", {"top_k": 1}),
        (400, "Unknown parameter: stream_options", {"stream_options": {"include_usage": True}}),
        (400, "max_tokens must be positive", {}),
        (500, "stream_options", {}),
        (401, "stream_options", {}),
    ],
)
async def test_not_about_usage(server: RawServer, status: int, message: str, extra: dict[str, Any]) -> None:
    server.play(answer(status, f'{{"error":"{message}"}}'.encode()))
    async with ApiClient(endpoint(server)) as client:
        exchange = await client.chat(ChatRequest((Message("user", "x"),), 1, extra_body=extra))
    assert exchange.failure is not None
    assert exchange.attempts == 1


async def test_parallel_requests_each_have_a_connection(server: RawServer) -> None:
    count = 6
    gate = asyncio.Event()
    ending = streamed(delta("a", finish_reason="stop"), DONE)
    for _ in range(count):
        server.play(gate, *ending)
    for _ in range(count):
        server.play(*ending)
    async with ApiClient(endpoint(server), connections=count) as client:
        asking = [asyncio.create_task(client.chat(REQUEST)) for _ in range(count)]
        await server.receive(count)
        gate.set()
        first = await asyncio.gather(*asking)
        second = await asyncio.gather(*(client.chat(REQUEST) for _ in range(count)))
    assert [exchange.failure for exchange in (*first, *second)] == [None] * (2 * count)
    assert all(exchange.connect_s is not None for exchange in first)
    assert all(exchange.connect_s is None for exchange in second)
    assert server.connections == count


async def test_more_requests_than_connections_do_not_wait(server: RawServer) -> None:
    gate = asyncio.Event()
    server.play(gate, *GOOD)
    server.play(*GOOD)
    async with ApiClient(endpoint(server), connections=1) as client:
        waiting = asyncio.create_task(client.chat(REQUEST))
        await server.receive()
        assert (await client.chat(REQUEST)).failure is None
        gate.set()
        assert (await waiting).failure is None


async def test_proxies_of_the_environment_do_not_catch_loopback(
    server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    server.play(*GOOD)
    async with ApiClient(endpoint(server)) as client:
        assert (await client.chat(REQUEST)).failure is None


async def test_proxies_of_the_environment_are_used_elsewhere(
    server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.delenv("no_proxy", raising=False)
    server.play(*GOOD)
    async with ApiClient(Endpoint("http://model.invalid", "tiny")) as client:
        assert (await client.chat(REQUEST)).failure is None
    assert server.requests[0].target == "http://model.invalid/v1/chat/completions"


async def test_unusable_proxy_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "carrier://pigeon")
    with pytest.raises(KvtopError) as caught:
        async with ApiClient(Endpoint("http://model.invalid", "tiny")):
            pass
    assert caught.value.failure.code == "proxy"


async def test_profile_headers_win(server: RawServer) -> None:
    server.play(*GOOD)
    headers = {"authorization": "Token abcdefgh123", "X-Extra": "1", "user-agent": "me"}
    async with ApiClient(endpoint(server, headers=headers)) as client:
        await client.chat(REQUEST)
    sent = server.requests[0].headers
    assert (sent["authorization"], sent["x-extra"], sent["user-agent"]) == ("Token abcdefgh123", "1", "me")


async def test_no_cookie_comes_back(server: RawServer) -> None:
    head = STREAM_HEAD.replace(b"Server: raw", b"Set-Cookie: a=b; Path=/")
    server.play(head, *GOOD[1:])
    server.play(*GOOD)
    async with ApiClient(endpoint(server)) as client:
        await client.chat(REQUEST)
        await client.chat(REQUEST)
    assert "cookie" not in server.requests[1].headers


async def test_extra_body_of_endpoint_and_request(server: RawServer) -> None:
    server.play(*GOOD)
    extra = {"attention_config": {"csa_block_size": 4}, "top_k": 1}
    async with ApiClient(endpoint(server, extra_body=extra)) as client:
        await client.chat(ChatRequest((Message("user", "x"),), 1, extra_body={"top_k": 2}))
    sent = server.requests[0].json
    assert (sent["attention_config"], sent["top_k"]) == ({"csa_block_size": 4}, 2)
