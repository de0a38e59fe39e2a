from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtop.api.usage import find_usage, merge_usage, normalise_usage

COUNTS = ("prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens")
CHAT = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
NEW_API = {
    "prompt_tokens": 686,
    "completion_tokens": 123,
    "total_tokens": 809,
    "prompt_tokens_details": {"cached_tokens": 679, "text_tokens": 686, "audio_tokens": 0},
    "completion_tokens_details": {"text_tokens": 0, "reasoning_tokens": 112},
    "input_tokens": 0,
    "output_tokens": 0,
    "input_tokens_details": None,
    "claude_cache_creation_5_m_tokens": 0,
    "claude_cache_creation_1_h_tokens": 0,
}


@pytest.mark.parametrize(
    ("raw", "counts", "flags"),
    [
        pytest.param(CHAT, (100, 20, None, None, None), (), id="plain"),
        pytest.param(
            {**CHAT, "prompt_tokens_details": None}, (100, 20, None, None, None), (), id="null details"
        ),
        pytest.param(
            {**CHAT, "prompt_tokens_details": {"cached_tokens": 0, "created_cache_tokens": 0}},
            (100, 20, 0, 0, None),
            (),
            id="vllm, details on",
        ),
        pytest.param(
            {
                **CHAT,
                "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 36},
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
            (100, 20, 64, 36, 5),
            (),
            id="openai",
        ),
        pytest.param(
            {**CHAT, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36},
            (100, 20, 64, None, None),
            (),
            id="deepseek",
        ),
        pytest.param(
            {**CHAT, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 30},
            (100, 20, 64, None, None),
            ("hit_miss_mismatch",),
            id="deepseek through a relay",
        ),
        pytest.param(
            {**CHAT, "cached_tokens": 30, "prompt_tokens_details": {"cached_tokens": 30}},
            (100, 20, 30, None, None),
            (),
            id="moonshot says it twice",
        ),
        pytest.param({**CHAT, "cached_tokens": 30}, (100, 20, 30, None, None), (), id="moonshot, older"),
        pytest.param(
            {**CHAT, "reasoning_tokens": 0}, (100, 20, None, None, None), (), id="sglang's default 0"
        ),
        pytest.param({**CHAT, "reasoning_tokens": 7}, (100, 20, None, None, 7), (), id="sglang"),
        pytest.param(
            {
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "total_tokens": 150,
                "completion_tokens_details": {"reasoning_tokens": 30},
            },
            (100, 50, None, None, 30),
            ("reasoning_added",),
            id="xai leaves reasoning out",
        ),
        pytest.param(
            {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 150},
            (100, 20, None, None, None),
            ("total_exceeds_sum",),
            id="gemini hides its thoughts",
        ),
        pytest.param(
            {**CHAT, "timings": {"cache_n": 40, "prompt_n": 60}}, (100, 20, 40, None, None), (), id="llama"
        ),
        pytest.param(
            {**CHAT, "prompt_tokens_details": {"cached_tokens": 41}, "timings": {"cache_n": 40}},
            (100, 20, 41, None, None),
            (),
            id="usage goes before timings",
        ),
        pytest.param(NEW_API, (686, 123, 679, None, 112), ("zero_is_ambiguous",), id="new-api"),
        pytest.param(
            {**CHAT, "input_tokens": 0, "output_tokens": 0},
            (100, 20, None, None, None),
            ("zero_is_ambiguous",),
            id="one-api",
        ),
        pytest.param(
            {**CHAT, "prompt_tokens_details": {"cached_tokens": 101}},
            (100, 20, 101, None, None),
            ("cached_exceeds_prompt",),
            id="more cached than sent",
        ),
        pytest.param(
            {"prompt_tokens": 0, "completion_tokens": 20},
            (None, 20, None, None, None),
            ("prompt_reported_zero",),
            id="no prompt is empty",
        ),
        pytest.param(
            {
                "input_tokens": 10,
                "output_tokens": 5,
                "cache_read_input_tokens": 80,
                "cache_creation_input_tokens": 7,
            },
            (97, 5, 80, 7, None),
            (),
            id="anthropic",
        ),
        pytest.param(
            {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": None},
            (10, 5, None, None, None),
            (),
            id="anthropic without caching",
        ),
        pytest.param(
            {
                "input_tokens": 10,
                "output_tokens": 5,
                "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4},
                "output_tokens_details": {"thinking_tokens": 2},
            },
            (17, 5, None, 7, 2),
            (),
            id="anthropic, write split by age",
        ),
        pytest.param(
            {
                "input_tokens": 100,
                "output_tokens": 20,
                "total_tokens": 120,
                "input_tokens_details": {"cached_tokens": 64},
                "output_tokens_details": {"reasoning_tokens": 3},
            },
            (100, 20, 64, None, 3),
            (),
            id="responses",
        ),
        pytest.param(
            {
                "input_tokens": 100,
                "output_tokens": 20,
                "prompt_tokens_details": {"cached_tokens": 64, "cache_creation_input_tokens": 30},
            },
            (100, 20, 64, 30, None),
            (),
            id="dashscope native counts cached tokens in",
        ),
        pytest.param(
            {"prompt_tokens": "100", "completion_tokens": True, "prompt_tokens_details": [1]},
            (None, None, None, None, None),
            (),
            id="wrong types",
        ),
        pytest.param(
            {"prompt_tokens": -1, "completion_tokens": 2.5, "cached_tokens": 1e300},
            (None, None, None, None, None),
            (),
            id="impossible counts",
        ),
    ],
)
def test_counts(raw: dict[str, Any], counts: tuple[int | None, ...], flags: tuple[str, ...]) -> None:
    usage = normalise_usage(raw)
    assert tuple(getattr(usage, name) for name in COUNTS) == counts
    assert usage.flags == flags
    assert usage.raw == raw
    assert usage.source == (None if counts[:2] == (None, None) else "usage")


def test_timings_alone_are_counts_too() -> None:
    usage = normalise_usage({"timings": {"cache_n": 3, "prompt_n": 8, "predicted_n": 5, "prompt_ms": 1.5}})
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) == (11, 5, 3)
    assert usage.source == "timings"


@pytest.mark.parametrize(
    "document",
    [
        {"usage": CHAT},
        {"usage": None, "choices": [{"usage": None}, {"usage": CHAT}]},
        {"usage": {}, "message": {"usage": CHAT}},
        {"type": "response.completed", "response": {"usage": CHAT}},
        {"x_groq": {"usage": CHAT}},
    ],
)
def test_found_wherever_it_is(document: dict[str, Any]) -> None:
    assert find_usage(document) == CHAT


@pytest.mark.parametrize("document", [{}, {"usage": None}, {"usage": [1]}, {"choices": 3, "message": "x"}])
def test_not_found(document: dict[str, Any]) -> None:
    assert find_usage(document) is None


def test_timings_stay_with_the_usage() -> None:
    assert find_usage({"usage": CHAT, "timings": {"cache_n": 1}}) == {**CHAT, "timings": {"cache_n": 1}}
    assert merge_usage(CHAT, {"timings": {"cache_n": 1}}) == {**CHAT, "timings": {"cache_n": 1}}


def test_running_totals_are_not_summed() -> None:
    assert merge_usage({"prompt_tokens": 9, "completion_tokens": 1}, CHAT) == CHAT
    assert merge_usage(None, CHAT) == CHAT


def test_anthropic_counts_come_in_two_events() -> None:
    start = {"input_tokens": 11, "cache_read_input_tokens": 5, "output_tokens": 1}
    later = {"output_tokens": 30, "input_tokens": None, "cache_read_input_tokens": None}
    assert merge_usage(start, later) == {
        "input_tokens": 11,
        "cache_read_input_tokens": 5,
        "output_tokens": 30,
    }
    assert merge_usage(start, {"input_tokens": 0, "output_tokens": 30})["input_tokens"] == 11
    everything_cached = {"input_tokens": 0, "cache_read_input_tokens": 16, "output_tokens": 30}
    assert merge_usage(start, everything_cached) == everything_cached


def test_raw_is_kept_clean_and_small() -> None:
    raw = {**CHAT, "note": "key", "nan": float("nan"), "many": list(range(1000)), "deep": [[[[[[[[[1]]]]]]]]]}
    usage = normalise_usage(raw, lambda text: text.replace("key", "*"))
    assert usage.raw["note"] == "*"
    assert usage.raw["nan"] is None
    assert len(usage.raw["many"]) == 64
    assert usage.raw["deep"] == [[[[[[[None]]]]]]]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens", "timings",
        "cached_tokens", "prompt_tokens_details", "input_tokens_details", "cache_creation",
        "reasoning_tokens", "cache_read_input_tokens", "completion_tokens_details", "usage",
        "choices", "message",
    ]
)  # fmt: skip
SHAPES = st.dictionaries(KEYS, JSON | st.dictionaries(KEYS, JSON, max_size=3), max_size=6)


@given(SHAPES, SHAPES)
def test_no_shape_raises(first: dict[str, Any], second: dict[str, Any]) -> None:
    find_usage(first)
    usage = normalise_usage(merge_usage(first, second))
    for name in COUNTS:
        count = getattr(usage, name)
        assert count is None or count >= 0
