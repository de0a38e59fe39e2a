"""Streams that end well: what is measured, what is noted."""

import asyncio
from pathlib import Path

import pytest

from kvtop.api.answer import TEXT_LIMIT
from tests.api.asking import KEY, ask
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

SAMPLES = Path(__file__).parent / "samples"
PAUSE_S = 0.03


async def test_a_good_stream(server: RawServer) -> None:
    exchange = await ask(server, *GOOD)
    assert exchange.failure is None
    assert exchange.text == "Hello world"
    assert exchange.text_events == 2
    assert exchange.finish_reason == "stop"
    assert exchange.usage is not None
    assert (exchange.usage.prompt_tokens, exchange.usage.completion_tokens) == (11, 2)
    assert exchange.headers == {"x-request-id": "req-1", "server": "raw"}
    assert (exchange.status, exchange.notes, exchange.attempts) == (200, (), 1)


async def test_what_is_sent(server: RawServer) -> None:
    await ask(server, *GOOD)
    sent = server.requests[0]
    assert (sent.method, sent.target) == ("POST", "/v1/chat/completions")
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["user-agent"].startswith("kvtop/")
    assert sent.headers["accept-encoding"] == "identity"
    assert sent.json["stream_options"] == {"include_usage": True}


async def test_order_of_the_instants(server: RawServer) -> None:
    role, thought = delta(role="assistant", content=""), delta(reasoning_content="hm")
    parts = [
        piece(part) for part in (role, thought, delta("a"), delta("b"), delta(finish_reason="stop"), DONE)
    ]
    steps: list[bytes | float] = [STREAM_HEAD]
    for part in parts:
        steps += [PAUSE_S, part]
    exchange = await ask(server, *steps, PAUSE_S, STREAM_END)
    instants = [
        exchange.headers_s,
        exchange.first_event_s,
        exchange.ttft_s,
        exchange.ttft_answer_s,
        exchange.last_token_s,
        exchange.latency_s,
    ]
    known = [instant for instant in instants if instant is not None]
    assert len(known) == 6
    assert known == sorted(known)
    for number, instant in enumerate(known):
        assert instant >= number * PAUSE_S
    assert exchange.end_ts - exchange.sent_ts == pytest.approx(exchange.latency_s, abs=1e-4)
    assert exchange.connect_s is not None


async def test_silence_after_the_end_is_not_latency(server: RawServer) -> None:
    closing = (piece(delta("a", finish_reason="stop")), piece(DONE), 0.2, STREAM_END)
    exchange = await ask(server, STREAM_HEAD, *closing)
    assert exchange.latency_s == exchange.last_token_s
    assert exchange.end_ts - exchange.sent_ts == pytest.approx(exchange.latency_s, abs=1e-4)


async def test_one_read_with_everything_has_one_instant(server: RawServer) -> None:
    whole = piece(delta("a") + delta("b", finish_reason="stop") + usage() + DONE)
    exchange = await ask(server, STREAM_HEAD + whole + STREAM_END)
    assert exchange.ttft_s == exchange.last_token_s
    assert exchange.decode_tok_s is None


@pytest.mark.parametrize(
    ("events", "notes"),
    [
        ((delta("a"), delta(finish_reason="stop")), ("no_done_mark",)),
        ((delta("a"), DONE), ("no_finish_reason",)),
        ((delta(role="assistant"), delta(finish_reason="stop"), DONE), ("no_text",)),
        ((event({"choices": [], "prompt_filter_results": []}), delta("a", finish_reason="stop"), DONE), ()),
        (
            (
                event({"choices": None}),
                event({"choices": [{"delta": None}]}),
                delta("a", finish_reason="stop"),
                DONE,
            ),
            (),
        ),
        ((b": keep-alive\n\n", delta("a", finish_reason="stop"), DONE), ()),
        ((delta("a", finish_reason="stop"), b"data: [DONE]"), ()),
    ],
)
async def test_odd_but_whole(server: RawServer, events: tuple[bytes, ...], notes: tuple[str, ...]) -> None:
    exchange = await ask(server, *streamed(*events))
    assert exchange.failure is None
    assert exchange.notes == notes


async def test_usage_not_sent_is_unknown(server: RawServer) -> None:
    exchange = await ask(server, *streamed(delta("a", finish_reason="stop"), DONE))
    assert exchange.usage is None
    assert exchange.e2e_tok_s is None


async def test_last_usage_wins(server: RawServer) -> None:
    running = usage(11, 1), usage(11, 2), event({"choices": [], "usage": None})
    exchange = await ask(server, *streamed(delta("a", finish_reason="stop"), *running, DONE))
    assert exchange.usage is not None
    assert exchange.usage.completion_tokens == 2


async def test_reasoning_only_has_no_visible_answer(server: RawServer) -> None:
    exchange = await ask(server, *streamed(delta(reasoning="hm"), delta(finish_reason="length"), DONE))
    assert exchange.ttft_s is not None
    assert exchange.ttft_answer_s is None
    assert (exchange.text, exchange.text_events) == ("", 1)


async def test_text_is_bounded_and_holds_no_key(server: RawServer) -> None:
    exchange = await ask(
        server, *streamed(delta(KEY), delta("x" * 9000), delta("\ud800", finish_reason="stop"), DONE)
    )
    assert KEY not in exchange.text
    assert len(exchange.text) <= TEXT_LIMIT
    exchange.text.encode()


async def test_not_streamed(server: RawServer) -> None:
    body = b'\n {"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5}}'
    exchange = await ask(server, answer(200, body))
    assert exchange.failure is None
    assert exchange.notes == ("not_streamed",)
    assert (exchange.text, exchange.ttft_s, exchange.last_token_s) == ("Hi", None, None)
    assert exchange.latency_s is not None
    assert exchange.usage is not None


async def test_stream_without_its_content_type(server: RawServer) -> None:
    body = b"\n\n" + delta("a", finish_reason="stop") + DONE
    exchange = await ask(server, answer(200, body, "application/json"))
    assert (exchange.failure, exchange.text) == (None, "a")
    assert exchange.ttft_s is not None


async def test_body_that_ends_with_the_connection(server: RawServer) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    exchange = await ask(server, head + delta("a", finish_reason="stop") + DONE, End.CLOSE)
    assert (exchange.failure, exchange.notes) == (None, ())


@pytest.mark.parametrize("end", [End.CLOSE, End.RESET])
async def test_connection_cut_after_the_finish_reason(server: RawServer, end: End) -> None:
    exchange = await ask(server, STREAM_HEAD, piece(delta("a", finish_reason="stop") + DONE), 0.05, end)
    assert exchange.failure is None
    assert exchange.notes == ("closed_early",)


async def test_body_left_open_after_the_end_mark(server: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvtop.api.attempt.DRAIN_S", 0.02)
    exchange = await ask(server, STREAM_HEAD, piece(delta("a", finish_reason="stop") + DONE), asyncio.Event())
    assert exchange.failure is None
    assert exchange.notes == ("left_open",)


async def test_body_left_open_after_the_finish_reason(
    server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvtop.api.attempt.TAIL_S", 0.02)
    exchange = await ask(server, STREAM_HEAD, piece(delta("a", finish_reason="stop")), asyncio.Event())
    assert exchange.failure is None
    assert exchange.notes == ("left_open", "no_done_mark")


@pytest.mark.parametrize(
    ("name", "cached", "text"),
    [
        ("llama-server-b11434", 3, "valuemetavar Breakpoint"),
        ("vllm-0.32.0", 0, " annotationsoriginalmetavar"),
    ],
)
async def test_real_streams(server: RawServer, name: str, cached: int, text: str) -> None:
    data = (SAMPLES / f"{name}-chat-stream.txt").read_bytes()
    cut = [piece(data[i : i + 37]) for i in range(0, len(data), 37)]
    exchange = await ask(server, STREAM_HEAD, *cut, STREAM_END)
    assert exchange.failure is None
    assert (exchange.text, exchange.text_events, exchange.finish_reason) == (text, 3, "length")
    assert exchange.usage is not None
    counts = (exchange.usage.prompt_tokens, exchange.usage.completion_tokens, exchange.usage.cached_tokens)
    assert counts == (11, 3, cached)
