from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtop.simulator.chat_request import ChatRequest, read_chat
from kvtop.simulator.refusal import Refusal
from kvtop.simulator.tokenizer import ANSWER_HEAD_TOKENS, MESSAGE_TOKENS

CONTEXT = 100
USER = {"role": "user", "content": "one two"}


def _read(**fields: Any) -> ChatRequest:
    return read_chat(json.dumps({"messages": [USER], **fields}).encode(), CONTEXT)


def _refusal(**fields: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        _read(**fields)
    return caught.value


def test_reads_what_it_serves() -> None:
    chat = _read(
        model="simulated-8b",
        max_tokens=5,
        stream=True,
        stream_options={"include_usage": True},
        ignore_eos=True,
        temperature=0,
        attention_config={"anything": 1},
    )
    assert len(chat.prompt) == 2 + MESSAGE_TOKENS + ANSWER_HEAD_TOKENS
    assert (chat.max_tokens, chat.stream, chat.include_usage, chat.ignore_end) == (5, True, True, True)


def test_text_parts_count_like_one_text() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert _read(messages=[{"role": "user", "content": parts}]).prompt == _read().prompt


def test_tools_and_tool_calls_are_part_of_the_prompt() -> None:
    plain = _read()
    assert len(_read(tools=[{"type": "function"}]).prompt) > len(plain.prompt)
    calls = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    without = {"role": "assistant", "content": None}
    assert len(_read(messages=[USER, calls]).prompt) > len(_read(messages=[USER, without]).prompt)


def test_without_a_limit_the_answer_may_fill_the_context() -> None:
    chat = _read()
    assert len(chat.prompt) + chat.max_tokens == CONTEXT


def test_the_newer_limit_wins() -> None:
    assert _read(max_tokens=5, max_completion_tokens=7).max_tokens == 7


def test_refuses_what_exceeds_the_context_with_the_numbers() -> None:
    prompt_tokens = len(_read().prompt)
    assert _read(max_tokens=CONTEXT - prompt_tokens).max_tokens == CONTEXT - prompt_tokens
    refusal = _refusal(max_tokens=CONTEXT - prompt_tokens + 1)
    assert refusal.status == 400
    error = refusal.body["error"]
    assert error["message"].startswith(
        f"This model's maximum context length is {CONTEXT} tokens. However, you requested "
        f"{CONTEXT - prompt_tokens + 1} output tokens and your prompt contains at least {prompt_tokens} input"
    )
    assert (error["type"], error["param"], error["code"]) == ("BadRequestError", "input_tokens", 400)


def test_refuses_a_prompt_that_alone_exceeds_the_context() -> None:
    refusal = _refusal(messages=[{"role": "user", "content": "word " * 200}])
    assert "maximum context length is 100 tokens" in refusal.body["error"]["message"]


def test_refuses_an_unknown_model_in_clean_words() -> None:
    refusal = _refusal(model="gpt\x1b[31m-9\n")
    assert refusal.status == 404
    assert refusal.body["error"]["message"] == "The model `gpt-9` does not exist."
    assert refusal.body["error"]["type"] == "NotFoundError"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"messages": [}', "ü".encode("utf-16")]
)
def test_refuses_what_is_no_json_object(body: bytes) -> None:
    with pytest.raises(Refusal) as caught:
        read_chat(body, CONTEXT)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": None},
        {"messages": []},
        {"messages": "hello"},
        {"messages": ["hello"]},
        {"messages": [{"content": "hello"}]},
        {"messages": [{"role": "user", "content": 5}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
        {"max_tokens": 0},
        {"max_tokens": -1},
        {"max_tokens": 1.5},
        {"max_tokens": True},
        {"max_completion_tokens": "5"},
        {"stream": "yes"},
        {"stream_options": {"include_usage": True}},
        {"stream": True, "stream_options": 1},
        {"n": 2},
    ],
)
def test_refuses_wrong_fields(fields: dict[str, Any]) -> None:
    assert _refusal(**fields).status == 400


@pytest.mark.parametrize("depth", range(900, 1010, 5))
def test_deep_tools_give_a_request_or_a_refusal(depth: int) -> None:
    tools = "[" * depth + "]" * depth
    body = f'{{"messages": [{{"role": "user", "content": ""}}], "tools": {tools}}}'
    with suppress(Refusal):
        assert read_chat(body.encode(), 10_000).prompt


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
_NAMES = ("model", "messages", "max_tokens", "stream", "stream_options", "tools", "n", "ignore_eos")


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(_NAMES), _JSON))
def test_any_object_gives_a_request_or_a_refusal(document: dict[str, Any]) -> None:
    with suppress(Refusal):
        chat = read_chat(json.dumps(document).encode(), CONTEXT)
        assert len(chat.prompt) + chat.max_tokens <= CONTEXT
