"""Findings on the watched memory: what it can say about the KV cache, and what it cannot."""

from __future__ import annotations

from collections.abc import Iterator

from kvtop.analysis.facts import API, ScanFacts
from kvtop.analysis.plateau import Void
from kvtop.analysis.verdict import Verdict
from kvtop.model.finding import Finding
from kvtop.model.quantity import format_bytes

COUNTERS = (
    "Read the engine's own counters: /metrics of vLLM, SGLang (--enable-metrics), LMDeploy and TensorRT-LLM, "
    "/slots of llama.cpp."
)


def memory_findings(facts: ScanFacts) -> Iterator[Finding]:
    """Yield the findings of this family."""
    if facts.path == API:
        yield _REMOTE
    elif facts.memory is None:
        yield _NOT_WATCHED
    else:
        yield from _judged(facts.memory)
        yield from _unread(facts.memory, interval_s=facts.plan.interval_s)


_REMOTE = Finding(
    "remote_model",
    "info",
    "The model runs elsewhere: the memory of this host says nothing about it.",
    "What a long prompt costs is in the columns of the bill: prompt, cached and completion tokens.",
)
_NOT_WATCHED = Finding(
    "memory_not_watched",
    "warning",
    "No memory was read: neither a GPU nor the engine's process was found on this host.",
    "Give the engine's process with --pid, or see with `kvtop status` why the GPU is not read. " + COUNTERS,
)


def _judged(verdict: Verdict) -> Iterator[Finding]:
    if verdict.flat:
        yield _pool_taken(verdict)
    elif verdict.noisy:
        yield _noisy(verdict)
    elif verdict.flat is None and verdict.rise_bytes is not None:
        yield _too_small(verdict)
    if verdict.keeps and verdict.fit is not None and verdict.fit.rises:
        yield _keeps(verdict)
    if verdict.drifts:
        yield _drifts(verdict)


def _pool_taken(verdict: Verdict) -> Finding:
    watched = verdict.watched
    text = (
        f"{_sentence(watched.place.name)} stayed at {format_bytes(watched.base_bytes)}: prompts of up to "
        f"{verdict.tokens:,.0f} tokens moved it by {format_bytes(verdict.rise_bytes)}. The engine took its "
        "KV pool at start, so this is not 0 bytes per token: this memory cannot show what a token costs."
    )
    return Finding("pool_taken_at_start", "info", text, COUNTERS, _evidence(verdict))


def _noisy(verdict: Verdict) -> Finding:
    text = (
        f"{_sentence(verdict.watched.place.name)} moves by {format_bytes(verdict.watched.noise_bytes)} "
        f"while idle, more than the prompts moved it ({format_bytes(verdict.rise_bytes)}): "
        "nothing can be read from it."
    )
    hint = "Stop what else uses this memory. " + COUNTERS
    return Finding("memory_noisy", "warning", text, hint, _evidence(verdict))


def _too_small(verdict: Verdict) -> Finding:
    text = (
        f"Memory rose by {format_bytes(verdict.rise_bytes)} for {verdict.tokens:,.0f} tokens, which an "
        "engine with a fixed pool may do by itself: whether it grows with the tokens cannot be told yet."
    )
    hint = "Scan at least three lengths, with longer prompts."
    return Finding("rise_too_small", "info", text, hint, _evidence(verdict))


def _keeps(verdict: Verdict) -> Finding:
    after = verdict.watched.lows[-1][1]
    text = (
        f"The engine's allocator keeps what it once took: {format_bytes(after)} after the last request, "
        f"{format_bytes(verdict.watched.base_bytes)} before the first, which stays the base."
    )
    hint = "Keep lengths ascending; restart the engine before a scan of shorter prompts."
    return Finding("allocator_keeps", "info", text, hint, {**_evidence(verdict), "left_bytes": after})


def _drifts(verdict: Verdict) -> Finding:
    text = (
        f"{_sentence(verdict.watched.place.name)} grew between requests of one length: it collects "
        "something (a prompt cache in host memory, pages of a pool touched for the first time), so no "
        "bytes per token are read from it."
    )
    hint = "llama.cpp: start the server with --cache-ram 0. " + COUNTERS
    return Finding("memory_drifts", "warning", text, hint, _evidence(verdict))


def _unread(verdict: Verdict, *, interval_s: float) -> Iterator[Finding]:
    if verdict.watched.base_bytes is None and verdict.watched.plateaus:
        text = "No idle memory was read before the first request: there is no base to count from."
        yield Finding(
            "base_missing", "warning", text, "Let the sampler run for a second before the first request."
        )
    short = _cells(verdict, "few_samples")
    if short:
        text = (
            f"{len(short)} of {len(verdict.watched.plateaus)} answers were too short for three memory "
            f"samples at {interval_s:g} s, so their memory is unknown."
        )
        hint = "Ask for a longer answer (--max-tokens) or sample more often (--interval)."
        yield Finding("short_decode", "warning", text, hint, {"cells": short})
    moved = _cells(verdict, "others_moved")
    if moved:
        text = f"Other processes took or freed GPU memory in {len(moved)} requests: these have no memory."
        hint = "Keep the GPU to the engine while the scan runs."
        yield Finding("others_moved", "warning", text, hint, {"cells": moved})
    shadowed = _cells(verdict, "shadowed")
    if shadowed:
        text = (
            f"{len(shadowed)} requests came after a longer one whose memory the allocator kept: "
            "what they needed themselves cannot be seen."
        )
        hint = "Restart the engine and scan with ascending lengths."
        yield Finding("shadowed_by_longer", "info", text, hint, {"cells": shadowed})


def _cells(verdict: Verdict, void: Void) -> list[str]:
    return [plateau.cell for plateau in verdict.watched.plateaus if plateau.void == void]


def _evidence(verdict: Verdict) -> dict[str, float | None]:
    return {
        "base_bytes": verdict.watched.base_bytes,
        "noise_bytes": verdict.watched.noise_bytes,
        "rise_bytes": verdict.rise_bytes,
        "tokens": verdict.tokens,
    }


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
