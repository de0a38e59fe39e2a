import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtop.api.chat import OpenAiChat
from kvtop.api.dialect import Dialect, Piece
from kvtop.api.exchange import ChatRequest, Message
from kvtop.api.sse import SseEvent, SseSplitter
from kvtop.model.secret import Secret

CHAT = OpenAiChat()
SAMPLES = Path(__file__).parent / "samples"


def read(document: Any) -> Piece:
    return CHAT.read_event(SseEvent("", json.dumps(document)))


def choice(delta: Any, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, **more}]}


def test_it_is_a_dialect() -> None:
    dialect: Dialect = CHAT
    assert dialect.name == "openai-chat"
    assert dialect.auth_headers(Secret("k")) == {"Authorization": "Bearer k"}


def test_body() -> None:
    request = ChatRequest(
        (Message("system", "s"), Message("user", "u")), 8, 0.5, {"top_k": 1, "temperature": None}
    )
    assert CHAT.body(request, "m", include_usage=True) == {
        "model": "m",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        "max_tokens": 8,
        "temperature": None,
        "stream": True,
        "stream_options": {"include_usage": True},
        "top_k": 1,
    }
    assert "stream_options" not in CHAT.body(request, "m", include_usage=False)


@pytest.mark.parametrize(
    "delta",
    [
        {"content": "a"},
        {"content": "\n"},
        {"content": [{"type": "text", "text": "a"}]},
        {"refusal": "a"},
        {"content": None, "reasoning_content": "a"},
        {"content": "", "reasoning": "a"},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}]},
        {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]},
        {"function_call": {"arguments": "{"}},
    ],
)
def test_generated_text(delta: dict[str, Any]) -> None:
    assert read(choice(delta)).has_text


@pytest.mark.parametrize(
    "document",
    [
        choice({"role": "assistant"}),
        choice({"role": "assistant", "content": ""}),
        choice({"role": "assistant", "content": None}),
        choice({}),
        choice(None),
        choice({"tool_calls": []}),
        choice({"content": 5, "reasoning": {"x": 1}}),
        {"choices": None},
        {"choices": []},
        {"choices": [None, 7]},
        {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
        {"choices": [], "usage": {"prompt_tokens": 1}},
    ],
)
def test_no_text_but_a_chunk(document: dict[str, Any]) -> None:
    piece = read(document)
    assert not piece.has_text
    assert piece.recognised
    assert piece.error is None


def test_only_content_is_the_visible_answer() -> None:
    assert read(choice({"content": "a", "reasoning": "b"})).answer == "a"
    assert read(choice({"reasoning": "b"})).answer == ""
    assert read({"choices": [{"text": "old"}]}).answer == "old"


def test_finish_and_done() -> None:
    assert read(choice({}, finish_reason="length")).finish_reason == "length"
    assert read(choice({}, finish_reason=None)).finish_reason is None
    assert CHAT.read_event(SseEvent("", " [DONE] ")).is_done


@pytest.mark.parametrize(
    "document",
    [
        {"error": {"message": "x"}},
        {"error": "x", "choices": []},
        {"object": "error", "message": "x", "code": 400},
        {"choices": None, "base_resp": {"status_code": 1008, "status_msg": "x"}},
        {"code": "Throttling", "message": "x"},
        {"detail": "x"},
    ],
)
def test_errors(document: dict[str, Any]) -> None:
    assert read(document).error == document


def test_error_events() -> None:
    assert CHAT.read_event(SseEvent("error", "busy")).error == "busy"
    assert CHAT.read_event(SseEvent("error", '{"message":"busy"}')).error == {"message": "busy"}


@pytest.mark.parametrize(
    "document",
    [{**choice({"content": "a"}), "error": None}, {**choice({}), "base_resp": {"status_code": 0}}],
)
def test_no_errors(document: dict[str, Any]) -> None:
    assert read(document).error is None


@pytest.mark.parametrize("data", ["", "nonsense", "5", "null", "[1]", "{", '{"id":"1"}', "[" * 100_000])
def test_what_is_no_chunk(data: str) -> None:
    assert CHAT.read_event(SseEvent("", data)) == Piece()


def test_whole_answers() -> None:
    message = {"role": "assistant", "content": "hi"}
    piece = CHAT.read_answer({"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"a": 1}})
    assert (piece.answer, piece.finish_reason, piece.usage) == ("hi", "stop", {"a": 1})
    assert CHAT.read_answer([1]) == Piece()


@pytest.mark.parametrize("name", ["llama-server-b11434", "vllm-0.32.0"])
def test_real_streams(name: str) -> None:
    splitter = SseSplitter()
    events = splitter.feed((SAMPLES / f"{name}-chat-stream.txt").read_bytes()) + splitter.finish()
    pieces = [CHAT.read_event(event) for event in events]
    assert [piece.has_text for piece in pieces[:5]] == [False, True, True, True, False]
    assert [piece.finish_reason for piece in pieces if piece.finish_reason] == ["length"]
    assert pieces[-1].is_done
    assert pieces[-2].usage
    assert not any(piece.error for piece in pieces)


@pytest.mark.parametrize("name", ["llama-server-b11434", "vllm-0.32.0"])
def test_another_dialect_is_not_taken_for_a_chat(name: str) -> None:
    events = SseSplitter().feed((SAMPLES / f"{name}-messages-stream.txt").read_bytes())
    assert not any(CHAT.read_event(event).has_text for event in events)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            [
                "choices", "delta", "message", "content", "reasoning", "tool_calls", "function", "arguments",
                "finish_reason", "usage", "error", "base_resp", "status_code", "text", "thinking", "object",
            ]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=14,
)  # fmt: skip


@given(JSON)
def test_no_shape_raises(document: Any) -> None:
    for piece in (read(document), CHAT.read_answer(document)):
        assert isinstance(piece.answer, str)
        assert piece.finish_reason is None or isinstance(piece.finish_reason, str)
