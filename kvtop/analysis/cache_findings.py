"""Findings on the prefix cache: cold requests that hit it, reused ones that miss it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from kvtop.analysis.cells import COLD, REUSED, cell_name
from kvtop.analysis.facts import ScanFacts
from kvtop.analysis.numbers import median, number
from kvtop.model.finding import Finding
from kvtop.model.record import RequestRecord

TEMPLATE_TOKENS = 64
"""Most that a chat template before the first word of a prompt may share with the last request."""
UNKNOWN_BLOCK_TOKENS = 256
"""Allowed shortfall where the cached counts show no block: the largest block in common use."""
LARGEST_BLOCK_TOKENS = 1024
_AMBIGUOUS_ZERO = "zero_is_ambiguous"


def cache_findings(facts: ScanFacts) -> Iterator[Finding]:
    """Yield the findings of this family."""
    yield from _cold_not_cold(facts)
    yield from _reused_not_reused(facts)
    yield from _never_reported(facts)


def hit_block(counts: Iterable[float]) -> int | None:
    """Return the tokens of one step of cache hits, from cached counts; None where there are no hits.

    The greatest common divisor of the counts; what is over 1,024 or from a single count only, is cut down
    to its power of two: 3,968 alone shows blocks of 128, not of 3,968.
    """
    hits = {int(count) for count in counts if count >= 1}
    if not hits:
        return None
    block = math.gcd(*hits)
    if len(hits) == 1 or block > LARGEST_BLOCK_TOKENS:
        block = min(block & -block, LARGEST_BLOCK_TOKENS)
    return block


def _cached(record: RequestRecord) -> float | None:
    cached = number(record.cached_tokens)
    return None if cached == 0 and _AMBIGUOUS_ZERO in record.notes else cached


def _of_prefix(facts: ScanFacts, prefix: str) -> list[tuple[RequestRecord, float]]:
    records = [record for point in facts.points if point.prefix == prefix for record in point.measured]
    return [(record, cached) for record in records if (cached := _cached(record)) is not None]


def _cold_not_cold(facts: ScanFacts) -> Iterator[Finding]:
    cold = _of_prefix(facts, COLD)
    least = min((cached for _, cached in cold), default=0.0)
    template = least if least <= TEMPLATE_TOKENS else 0.0
    warm = [(record, cached) for record, cached in cold if cached > TEMPLATE_TOKENS]
    if not warm:
        return
    counts = sorted(cached for _, cached in warm)
    constant = len(set(counts)) == 1 and len(warm) == len(cold)
    text = (
        f"{len(warm)} of {len(cold)} cold requests were partly served from the cache: {counts[0]:,.0f} to "
        f"{counts[-1]:,.0f} cached tokens, {template:,.0f} of them the shared template's. "
        "Their TTFT is too low."
    )
    hint = (
        "The same number each time: a system prompt that the provider puts before every request."
        if constant
        else "Another run with the same seed warmed the server: take another --seed or restart the engine."
    )
    evidence = {"template_tokens": template, "cached_tokens": {cell_name(r): cached for r, cached in warm}}
    yield Finding("cold_not_cold", "warning", text, hint, evidence)


def _reused_not_reused(facts: ScanFacts) -> Iterator[Finding]:
    reused = _of_prefix(facts, REUSED)
    block = hit_block(cached for _, cached in [*reused, *_of_prefix(facts, COLD)])
    short = {}
    for record, cached in reused:
        shared = number(record.shared_prefix_tokens)
        if shared is not None and shared - cached > (
            UNKNOWN_BLOCK_TOKENS if block is None else max(block, 16)
        ):
            short[cell_name(record)] = (shared, cached)
    if not short:
        return
    shared_share = sum(cached for _, cached in short.values()) / sum(shared for shared, _ in short.values())
    granularity = "" if block is None else f"; hits come in steps of {block} tokens"
    text = (
        f"{len(short)} of {len(reused)} reused requests missed the cache: {shared_share:.0%} of the tokens "
        f"they share with an earlier one were cached{granularity}."
    )
    hint = (
        "Prefix caching may be off, the prefix evicted or under the provider's minimum (often 1,024 tokens), "
        "or a load balancer sent the pair to different engines."
    )
    evidence = {"hit_block_tokens": block, "shared_and_cached_tokens": {k: list(v) for k, v in short.items()}}
    yield Finding("reused_not_reused", "warning", text, hint, evidence)


def _never_reported(facts: ScanFacts) -> Iterator[Finding]:
    with_usage = [record for record in facts.measured if number(record.prompt_tokens) is not None]
    if not with_usage or any(_cached(record) is not None for record in with_usage):
        return
    wanted = any(point.prefix == REUSED for point in facts.points)
    speedup = _ttft_ratio(facts)
    clock = "" if speedup is None else f" By the clock, reused prompts took {speedup:.2f} of the cold TTFT."
    text = (
        f"The server never reported cached tokens: cold and reused cannot be proven, hits are unknown.{clock}"
    )
    hint = "vLLM: --enable-prompt-tokens-details; SGLang: --enable-cache-report; some gateways drop it."
    yield Finding("cached_never_reported", "warning" if wanted else "info", text, hint)


def _ttft_ratio(facts: ScanFacts) -> float | None:
    """Return the median over lengths of reused TTFT / cold TTFT."""
    ttft: dict[tuple[int, str], float | None] = {}
    for point in facts.points:
        times = [known for record in point.measured if (known := number(record.ttft_s)) is not None]
        ttft[point.target_tokens, point.prefix] = median(times)
    pairs = [(ttft.get((length, REUSED)), cold) for (length, prefix), cold in ttft.items() if prefix == COLD]
    return median([reused / cold for reused, cold in pairs if reused is not None and cold and cold > 0])
