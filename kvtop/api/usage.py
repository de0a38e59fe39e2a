"""The server's own token counts, found in whatever shape it sends them and normalised."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kvtop.api.foreign_json import as_count, as_list, as_object, tidy_json
from kvtop.model.usage import Usage

_CACHED = (
    ("prompt_tokens_details", "cached_tokens"),
    ("input_tokens_details", "cached_tokens"),
    ("cache_read_input_tokens",),
    ("prompt_cache_hit_tokens",),
    ("cached_tokens",),
    ("timings", "cache_n"),
)
_CACHE_WRITE = (
    ("prompt_tokens_details", "cache_write_tokens"),
    ("prompt_tokens_details", "cache_creation_input_tokens"),
    ("prompt_tokens_details", "cached_creation_tokens"),
    ("prompt_tokens_details", "created_cache_tokens"),
    ("input_tokens_details", "cache_write_tokens"),
)
_REASONING = (
    ("completion_tokens_details", "reasoning_tokens"),
    ("output_tokens_details", "reasoning_tokens"),
    ("output_tokens_details", "thinking_tokens"),
)
_TIMINGS = "timings"


def find_usage(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the usage object in a stream chunk or a whole answer, None where there is none.

    llama.cpp's `timings`, which stand beside it, are added under their own name.
    """
    found = next((usage for usage in _usages(document) if usage), None)
    timings = as_object(document.get(_TIMINGS))
    if not timings:
        return dict(found) if found else None
    return {**(found or {}), _TIMINGS: dict(timings)}


def _usages(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield as_object(document.get("usage"))
    for choice in as_list(document.get("choices")):
        yield as_object(as_object(choice).get("usage"))
    for parent in ("message", "response", "x_groq"):
        yield as_object(as_object(document.get(parent)).get("usage"))


def merge_usage(earlier: Mapping[str, Any] | None, later: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known after `later` was seen in the same stream. Counts are never summed.

    OpenAI shapes are running totals: the last one wins. Anthropic splits its counts over two events:
    fields that are null in the later one keep their earlier value, and so does an input count that the
    later one reports as zero beside no cached tokens.
    """
    if not earlier:
        return dict(later)
    if later.keys() <= {_TIMINGS}:
        return {**earlier, **later}
    if "prompt_tokens" in later or "input_tokens_details" in later:
        return dict(later)
    told = {key: value for key, value in later.items() if value is not None}
    cached = any(
        as_count(told.get(key)) for key in ("cache_read_input_tokens", "cache_creation_input_tokens")
    )
    if not cached and as_count(told.get("input_tokens")) == 0:
        told.pop("input_tokens")
    return {**earlier, **told}


def normalise_usage(raw: Mapping[str, Any], clean: Callable[[str], str] = str) -> Usage:
    """Return the counts of a usage object of any known shape; `clean` is applied to its strings.

    Prompt tokens include cached ones and completion tokens include reasoning, whoever reports them.
    """
    cached = _first(raw, _CACHED)
    write = _cache_write(raw)
    prompt = _prompt(raw)
    completion = _either(raw, "completion_tokens", "output_tokens")
    reasoning = _reasoning(raw)
    source: str | None = "usage"
    if prompt is None and completion is None:
        prompt, completion = _from_timings(as_object(raw.get(_TIMINGS)))
        source = None if prompt is None and completion is None else "timings"
    completion, sum_flags = _with_reasoning(raw, prompt, completion, reasoning)
    return Usage(
        prompt_tokens=prompt or None,
        completion_tokens=completion,
        cached_tokens=cached,
        cache_write_tokens=write,
        reasoning_tokens=reasoning,
        source=source,
        flags=_flags(raw, prompt, cached) + sum_flags,
        raw=tidy_json(dict(raw), clean),
    )


def _at(raw: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = raw
    for key in path:
        value = as_object(value).get(key)
    return value


def _first(raw: Mapping[str, Any], paths: tuple[tuple[str, ...], ...]) -> int | None:
    counts = (as_count(_at(raw, path)) for path in paths)
    return next((count for count in counts if count is not None), None)


def _either(raw: Mapping[str, Any], chat_key: str, other_key: str) -> int | None:
    chat, other = as_count(raw.get(chat_key)), as_count(raw.get(other_key))
    return chat if chat or other is None else other


def _prompt(raw: Mapping[str, Any]) -> int | None:
    prompt = _either(raw, "prompt_tokens", "input_tokens")
    if prompt is None or as_count(raw.get("prompt_tokens")):
        return prompt
    if as_object(raw.get("input_tokens_details")) or as_object(raw.get("prompt_tokens_details")):
        return prompt
    # Anthropic counts what was read from and written to the cache beside the input, not in it.
    return prompt + (as_count(raw.get("cache_read_input_tokens")) or 0) + (_anthropic_write(raw) or 0)


def _cache_write(raw: Mapping[str, Any]) -> int | None:
    reported = _first(raw, _CACHE_WRITE)
    return reported if reported is not None else _anthropic_write(raw)


def _anthropic_write(raw: Mapping[str, Any]) -> int | None:
    whole = as_count(raw.get("cache_creation_input_tokens"))
    if whole is not None:
        return whole
    split = as_object(raw.get("cache_creation"))
    parts = [as_count(split.get(f"ephemeral_{age}_input_tokens")) for age in ("5m", "1h")]
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _reasoning(raw: Mapping[str, Any]) -> int | None:
    reported = _first(raw, _REASONING)
    if reported is not None:
        return reported
    # SGLang's top-level field is 0 by default, whether or not anything was counted.
    return as_count(raw.get("reasoning_tokens")) or None


def _from_timings(timings: Mapping[str, Any]) -> tuple[int | None, int | None]:
    fresh = as_count(timings.get("prompt_n"))
    cached = as_count(timings.get("cache_n"))
    prompt = None if fresh is None or cached is None else fresh + cached
    return prompt, as_count(timings.get("predicted_n"))


def _with_reasoning(
    raw: Mapping[str, Any], prompt: int | None, completion: int | None, reasoning: int | None
) -> tuple[int | None, tuple[str, ...]]:
    total = as_count(raw.get("total_tokens"))
    if total is None or prompt is None or completion is None:
        return completion, ()
    if reasoning and total == prompt + completion + reasoning:
        return completion + reasoning, ("reasoning_added",)
    return completion, ("total_exceeds_sum",) if total > prompt + completion else ()


def _flags(raw: Mapping[str, Any], prompt: int | None, cached: int | None) -> tuple[str, ...]:
    hit, miss = as_count(raw.get("prompt_cache_hit_tokens")), as_count(raw.get("prompt_cache_miss_tokens"))
    known_split = hit is not None and miss is not None and prompt is not None
    doubts = {
        "prompt_reported_zero": prompt == 0,
        "cached_exceeds_prompt": bool(prompt) and cached is not None and cached > (prompt or 0),
        "hit_miss_mismatch": known_split and (hit or 0) + (miss or 0) != prompt,
        "zero_is_ambiguous": _is_relay(raw),
    }
    return tuple(name for name, doubted in doubts.items() if doubted)


def _is_relay(raw: Mapping[str, Any]) -> bool:
    """Whether a new-api or one-api relay wrote this: it fills fields it knows nothing about with 0."""
    claude_keys = {"claude_cache_creation_5_m_tokens", "claude_cache_creation_1_h_tokens"}
    if claude_keys & raw.keys():
        return True
    zeros = as_count(raw.get("input_tokens")) == 0 and as_count(raw.get("output_tokens")) == 0
    return zeros and bool(as_count(raw.get("prompt_tokens")))
