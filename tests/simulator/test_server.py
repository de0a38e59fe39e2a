"""The simulator over real HTTP, as a client sees it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import pytest

from kvtop.simulator.growing import SEGMENT_BYTES
from kvtop.simulator.http_connection import MAX_BODY_BYTES
from kvtop.simulator.kv_model import SIMULATED_8B
from kvtop.simulator.options import SimulatorOptions
from kvtop.simulator.process import SimulatorProcess, start_simulator
from kvtop.simulator.server import build_storage
from tests.simulator.simulator_client import CHAT, DONE, SimulatorClient, chat_body, events_of, stream_body

LONG = "word " * 4000


def test_a_stream_is_role_tokens_finish_usage_done(paged: SimulatorClient) -> None:
    *chunks, done = paged.events("hello there", 3)
    assert done == DONE
    role, *tokens, finish, usage = map(json.loads, chunks)
    assert role["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [chunk["choices"][0]["delta"]["content"][0] for chunk in tokens] == [" ", " ", " "]
    assert {chunk["choices"][0]["finish_reason"] for chunk in (role, *tokens)} == {None}
    assert finish["choices"][0]["finish_reason"] == "length"
    assert usage["choices"] == []
    assert usage["usage"] == {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "total_tokens": 13,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    assert len({chunk["id"] for chunk in (role, *tokens, finish, usage)}) == 1


def test_usage_is_sent_only_when_asked_for(paged: SimulatorClient) -> None:
    response = paged.http.post(CHAT, json=chat_body("hello", max_tokens=2, stream=True))
    *chunks, done = events_of(response)
    assert done == DONE
    assert all("usage" not in json.loads(chunk) for chunk in chunks)


def test_the_whole_answer_is_the_streamed_one(paged: SimulatorClient, fresh_word: str) -> None:
    chunks = [json.loads(event) for event in paged.events(fresh_word, 5)[1:-3]]
    streamed = "".join(chunk["choices"][0]["delta"]["content"] for chunk in chunks)
    whole = paged.http.post(CHAT, json=chat_body(fresh_word, max_tokens=5)).json()
    assert whole["choices"][0]["message"]["content"] == streamed
    assert whole["choices"][0]["finish_reason"] == "length"
    assert whole["usage"]["completion_tokens"] == 5


def test_a_repeated_prompt_is_cached_but_for_its_last_block(paged: SimulatorClient, fresh_word: str) -> None:
    text = f"{fresh_word} {LONG}"
    first, second = paged.usage(text), paged.usage(text)
    assert first["prompt_tokens_details"] == {"cached_tokens": 0}
    assert second["prompt_tokens"] == 4009
    assert second["prompt_tokens_details"] == {"cached_tokens": 4008 // 16 * 16}


def test_the_growing_engine_reports_no_cache(growing: SimulatorClient) -> None:
    assert growing.usage(LONG)["prompt_tokens_details"] is None
    assert growing.usage(LONG)["prompt_tokens_details"] is None
    assert growing.engine()["cache_hits_tokens"] is None


def test_memory_of_the_paged_engine_is_flat_while_its_blocks_fill(
    paged: SimulatorClient, fresh_word: str
) -> None:
    idle = paged.device()["mem_used_bytes"]
    with paged.endless_answer(f"{fresh_word} {LONG}"):
        engine = paged.engine()
        assert engine["kv_blocks_used"] >= 4000 // 16
        assert paged.device()["mem_used_bytes"] == idle
    assert paged.wait_until_idle()["kv_blocks_used"] == 0


def test_memory_of_the_growing_engine_follows_the_formula_and_stays(growing: SimulatorClient) -> None:
    idle = growing.device()["mem_used_bytes"]
    for words in (1000, 4000, 2000):
        growing.usage("word " * words, 5)
        stored_tokens = max(words, 4000 if words == 2000 else 0) + 8 + 5 - 1
        stored_bytes = stored_tokens * SIMULATED_8B.bytes_per_token
        grown = growing.device()["mem_used_bytes"] - idle
        assert grown == -(-stored_bytes // SEGMENT_BYTES) * SEGMENT_BYTES


def test_a_client_that_leaves_frees_its_blocks(paged: SimulatorClient, fresh_word: str) -> None:
    with paged.endless_answer(fresh_word):
        assert paged.engine()["running"] == 1
    engine = paged.wait_until_idle()
    assert (engine["running"], engine["kv_blocks_used"]) == (0, 0)


def test_a_client_that_leaves_before_a_whole_answer_frees_its_blocks(paged: SimulatorClient) -> None:
    with _connected(paged) as connection:
        connection.sendall(_post(chat_body("hello", max_tokens=100_000, ignore_eos=True)))
        while not paged.engine()["running"]:
            pass
    assert paged.wait_until_idle()["running"] == 0


async def test_two_clients_are_served_at_once(shared_paged: SimulatorProcess) -> None:
    async with httpx.AsyncClient(base_url=shared_paged.base_url, timeout=20) as http:
        bodies = [stream_body(f"client {number}", 500) for number in range(2)]
        answers = await asyncio.gather(*(_orders(http, body) for body in bodies))
    (first_began, first_ended), (second_began, second_ended) = answers
    assert first_began < second_ended
    assert second_began < first_ended


async def _orders(http: httpx.AsyncClient, body: object) -> tuple[float, float]:
    loop = asyncio.get_running_loop()
    times_s = []
    async with http.stream("POST", CHAT, json=body) as response:
        async for line in response.aiter_lines():
            if line.startswith('data: {"id"'):
                times_s.append(loop.time())
    assert len(times_s) == 503
    return times_s[0], times_s[-1]


def test_requests_beyond_the_limit_wait_their_turn() -> None:
    with (
        start_simulator("paged", time_scale=20, max_seqs=1) as process,
        httpx.Client(base_url=process.base_url, timeout=20) as http,
    ):
        client = SimulatorClient(http)
        with client.endless_answer("first"), _connected(client) as second:
            second.sendall(_post(chat_body("second", max_tokens=1)))
            while not client.engine()["waiting"]:
                pass
            assert client.engine()["running"] == 1
        assert client.wait_until_idle()["waiting"] == 0


def test_too_long_a_prompt_is_refused_with_the_limit(paged: SimulatorClient) -> None:
    response = paged.http.post(CHAT, json=chat_body("word " * 140_000, max_tokens=1))
    assert response.status_code == 400
    error = response.json()["error"]
    assert "maximum context length is 139264 tokens" in error["message"]
    assert "at least 140008 input tokens" in error["message"]
    assert paged.engine()["waiting"] == 0


def test_an_unknown_model_and_bad_json_are_refused(paged: SimulatorClient) -> None:
    unknown = paged.http.post(CHAT, json={**chat_body("hello"), "model": "other"})
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, 404)
    bad = paged.http.post(CHAT, content=b"{")
    assert (bad.status_code, bad.json()["error"]["code"]) == (400, 400)


def test_models_and_health(paged: SimulatorClient) -> None:
    (card,) = paged.http.get("/v1/models").json()["data"]
    assert (card["id"], card["max_model_len"], card["owned_by"]) == (
        "simulated-8b",
        139_264,
        "kvtop-simulator",
    )
    health = paged.http.get("/health")
    assert (health.status_code, health.content) == (200, b"")


def test_tokenize_counts_what_usage_counts(paged: SimulatorClient) -> None:
    chat = chat_body("one, two")
    counted = paged.http.post("/tokenize", json=chat).json()
    usage = paged.http.post(CHAT, json={**chat, "max_tokens": 1}).json()["usage"]
    assert counted["count"] == len(counted["tokens"]) == usage["prompt_tokens"]
    assert counted["max_model_len"] == 139_264
    assert counted["token_strs"] is None
    plain = paged.http.post("/tokenize", json={"prompt": "one, two", "return_token_strs": True}).json()
    assert plain["token_strs"] == ["one", ",", "two"]
    assert paged.http.post("/tokenize", json={}).status_code == 400


def test_counters_move_with_the_cache(paged: SimulatorClient, fresh_word: str) -> None:
    before = paged.engine()
    for _ in range(2):
        paged.usage(f"{fresh_word} {LONG}")
    after = paged.engine()
    assert after["cache_queries_tokens"] - before["cache_queries_tokens"] == 2 * 4009
    assert after["cache_hits_tokens"] - before["cache_hits_tokens"] == 4008 // 16 * 16
    assert after["kv_bytes_per_token"] == SIMULATED_8B.bytes_per_token


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/", 404), ("GET", CHAT, 405), ("POST", "/sim/gpu", 405), ("GET", "/health?x=1", 200)],
)
def test_every_answer_says_that_it_is_simulated(
    paged: SimulatorClient, method: str, path: str, status: int
) -> None:
    response = paged.http.request(method, path)
    assert (response.status_code, response.headers["x-kvtop-simulated"]) == (status, "1")


def test_a_stream_says_that_it_is_simulated(paged: SimulatorClient) -> None:
    response = paged.http.post(CHAT, json=stream_body("hello", 1))
    assert response.headers["x-kvtop-simulated"] == "1"
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"


def test_too_large_a_body_is_refused(paged: SimulatorClient) -> None:
    assert paged.http.post(CHAT, content=b" " * (MAX_BODY_BYTES + 1)).status_code == 413
    assert paged.http.get("/health").status_code == 200


def test_what_is_not_http_is_refused_and_the_connection_closed(paged: SimulatorClient) -> None:
    with _connected(paged) as connection:
        connection.sendall(b"nonsense\r\n\r\n")
        answer = _read_all(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_requests_sent_ahead_are_answered_in_order(paged: SimulatorClient) -> None:
    with _connected(paged) as connection:
        chat = _post(stream_body("hello", 3))
        last = b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        connection.sendall(chat + last)
        answer = _read_all(connection)
    first, _, second = answer.partition(b"data: [DONE]")
    assert first.startswith(b"HTTP/1.1 200 ")
    assert second.count(b"HTTP/1.1 200 ") == 1


def test_a_client_that_asks_before_sending_is_told_to_go_on(paged: SimulatorClient) -> None:
    head, _, body = _post(chat_body("hello", max_tokens=1)).partition(b"\r\n\r\n")
    with _connected(paged) as connection:
        connection.sendall(head + b"\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        assert _read_all(connection).startswith(b"HTTP/1.1 200 ")


def test_a_context_that_could_never_be_served_is_refused_at_start() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        build_storage(SimulatorOptions("paged", blocks=10, context=145))
    assert build_storage(SimulatorOptions("paged", blocks=10, context=144)).capacity_tokens == 144


@contextmanager
def _connected(client: SimulatorClient) -> Iterator[socket.socket]:
    url = urlsplit(str(client.http.base_url))
    with socket.create_connection((url.hostname or "", url.port or 0), timeout=20) as connection:
        yield connection


def _post(document: object) -> bytes:
    body = json.dumps(document).encode()
    return f"POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def _read_all(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(65536), b""))
