"""Findings on the watched memory: what it can say about the KV cache, and what it cannot."""

from __future__ import annotations

from collections.abc import Iterator

from kvtop.analysis.bases import Base, restarts
from kvtop.analysis.facts import API, ScanFacts
from kvtop.analysis.plateau import Void
from kvtop.analysis.verdict import Verdict
from kvtop.analysis.why import moved_words, why_not_kv
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
        if not facts.live or any(point.measured for point in facts.points):
            yield _NOT_WATCHED
    else:
        yield from _judged(facts.memory)
        yield from _restarted(facts.memory)
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
    judged = {"stayed": _stayed, "small": _moved, "noisy": _noisy, "drifts": _drifts}.get(verdict.kind)
    if judged is not None:
        yield judged(verdict)
    if verdict.keeps and verdict.slope is not None:
        yield _keeps(verdict)


def _stayed(verdict: Verdict) -> Finding:
    watched = verdict.watched
    text = (
        f"{_sentence(watched.place.name)} stayed at {format_bytes(watched.base_bytes)}: prompts of up to "
        f"{verdict.tokens:,.0f} tokens did not move it. The engine took its KV pool at start, so this is not "
        "0 bytes per token: this memory cannot show what a token costs."
    )
    return Finding("pool_taken_at_start", "info", text, COUNTERS, _evidence(verdict))


def _moved(verdict: Verdict) -> Finding:
    """Return what is said of memory that moved, but by too little or too unevenly to be the KV cache."""
    text = (
        f"{_sentence(verdict.watched.place.name)} {moved_words(verdict)} with prompts of up to "
        f"{verdict.tokens:,.0f} tokens, {why_not_kv(verdict)}: not attributed to the KV cache. Most engines "
        "take their KV pool at start."
    )
    more = "" if verdict.lengths > 2 else "Scan at least three lengths, with longer prompts. "
    return Finding("rise_too_small", "info", text, more + COUNTERS, _evidence(verdict))


def _noisy(verdict: Verdict) -> Finding:
    text = (
        f"{_sentence(verdict.watched.place.name)} moves by {format_bytes(verdict.watched.noise_bytes)} "
        f"while idle, more than the prompts moved it ({format_bytes(verdict.rise_bytes)}): "
        "nothing can be read from it."
    )
    hint = "Stop what else uses this memory. " + COUNTERS
    return Finding("memory_noisy", "warning", text, hint, _evidence(verdict))


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
    yield from _without_base(verdict)
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


def _without_base(verdict: Verdict) -> Iterator[Finding]:
    watched = verdict.watched
    lost = _cells(verdict, "no_base")
    hint = "Let the sampler run for a second before the first request."
    if not watched.bases and watched.plateaus:
        text = "No idle memory was read before the first request: there is no base to count from."
        yield Finding("base_missing", "warning", text, hint)
    elif lost:
        text = (
            f"{len(lost)} of {len(watched.plateaus)} requests have no base: the engine's process "
            "that answered them was not read while idle before, so their memory is unknown."
        )
        hint = "The engine was restarted under the scan: start a new one."
        yield Finding("base_missing", "warning", text, hint, {"cells": lost})


def _restarted(verdict: Verdict) -> Iterator[Finding]:
    changes = list(restarts(verdict.watched.bases))
    if not changes:
        return
    proven = all(before.pids and after.pids and not before.pids & after.pids for before, after in changes)
    listed = "; ".join(_change(before, after) for before, after in changes)
    what = "The engine was restarted" if proven else "The engine was restarted or gave memory back"
    text = f"{what} between sessions ({listed}): the requests of each session count from its own base."
    hint = "If it runs with other settings now, start a new scan: two engines do not make one line."
    evidence = {"bases": [base.to_json() for base in verdict.watched.bases]}
    yield Finding("engine_restarted", "info" if proven else "warning", text, hint, evidence)


def _change(before: Base, after: Base) -> str:
    idle = f"idle memory {format_bytes(before.bytes)} → {format_bytes(after.bytes)}"
    if before.pids and after.pids and not before.pids & after.pids:
        return f"pid {min(before.pids)} → {min(after.pids)}, {idle}"
    return idle


def _cells(verdict: Verdict, void: Void) -> list[str]:
    return [plateau.cell for plateau in verdict.watched.plateaus if plateau.void == void]


def _evidence(verdict: Verdict) -> dict[str, float | None]:
    return {
        "base_bytes": verdict.watched.base_bytes,
        "noise_bytes": verdict.watched.noise_bytes,
        "rise_bytes": verdict.rise_bytes,
        "tokens": verdict.tokens,
        "r2": verdict.fit.r2 if verdict.fit else None,
    }


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
