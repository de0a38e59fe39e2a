"""Documents `kvtop.scan/1` as the analysis writes them; the numbers of three are from real runs."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]


def point(target: int, prompt: float | None = None, /, prefix: str = "cold", **values: Any) -> Document:
    """One point; what is not given is null."""
    names = ("ttft_s", "ttft_min_s", "ttft_max_s", "latency_s", "decode_tok_s", "cached_tokens")
    empty: Document = dict.fromkeys((*names, "kv_bytes", "mem_delta_bytes", "mem_origin"))
    counts: Document = {"n": 0 if prompt is None else 3, "failed": 0, "failures": []}
    return {"target_tokens": target, "prefix": prefix, "prompt_tokens": prompt, **empty, **counts, **values}


def document(*points: Document, **values: Any) -> Document:
    """A document of a local scan that is done."""
    empty: Document = {"kv_slope": None, "memory": None, "spent": {}, "findings": []}
    head: Document = {"schema": "kvtop.scan/1", "run": "20261201T151627Z-scan-hf", "path": "local"}
    return {**head, "state": "done", "simulated": False, "points": list(points), **empty, **values}


def finding(code: str, text: str, hint: str = "", severity: str = "info") -> Document:
    """A finding as in a document."""
    return {"code": code, "severity": severity, "text": text, "hint": hint}


def growing() -> Document:
    """`transformers serve` on a CPU: memory of the process grows with the tokens."""
    return document(
        _growing(1024, 1022, 142176256, 3.6015, 1.0786, 4.2378, 19.775, 3.8952),
        _growing(2048, 2049, 279056384, 11.991, 11.969, 14.024, 55.848, 1.4358),
        _growing(4096, 4096, 553748480, 9.6347, 7.4116, 21.781, 59.147, 1.2724),
        _growing(8192, 8191, 1106063360, 57.609, 57.609, 57.609, 113.19, 1.1335),
        memory={"origin": "process", "base_bytes": 473473024, "noise_bytes": 0, "flat": False, "reason": ""},
        kv_slope={
            "bytes_per_token": 134055.71987778504,
            "ci_low": 133138.33508584756,
            "ci_high": 134608.96892558906,
            "intercept_bytes": -457568.0347338319,
            "r2": 0.9999681068135735,
            "origin": "process",
            "theory_bytes_per_token": None,
            "n": 10,
            "residual_bytes": 1373745.2352068638,
            "outliers": [],
        },
        findings=[finding("kv_slope", "One more token holds 134,056 B/token = 130.9 KiB/token.")],
    )


def _growing(
    target: int, prompt: int, memory: int, ttft: float, low: float, high: float, total: float, speed: float
) -> Document:
    return point(
        target,
        prompt,
        mem_delta_bytes=memory,
        mem_origin="process",
        ttft_s=ttft,
        ttft_min_s=low,
        ttft_max_s=high,
        latency_s=total,
        decode_tok_s=speed,
    )


POOL_TAKEN = (
    "SIMULATED device memory of SIM-0 stayed at 129.2 GiB: prompts of up to 65,632 tokens moved it by 0 B. "
    "The engine took its KV pool at start, so this is not 0 bytes per token: this memory cannot show what a "
    "token costs."
)


def paged() -> Document:
    """The simulated engine with a pool: device memory does not move."""
    return document(
        *(
            point(size, size, ttft_s=size / 1e5, latency_s=1 + size / 1e5, cached_tokens=0)
            for size in (4096, 16384)
        ),
        run="20261201T152701Z-scan-simulated-8b",
        simulated=True,
        memory={
            "origin": "simulated",
            "base_bytes": 138692880499,
            "noise_bytes": 0,
            "flat": True,
            "reason": "x",
        },
        findings=[
            finding("simulated", "Every number here is SIMULATED."),
            finding("pool_taken_at_start", POOL_TAKEN, "Read the engine's own counters."),
        ],
    )


def remote() -> Document:
    """An API: no memory, usage of cold and reused prompts."""
    return document(
        point(1024, 1027, ttft_s=0.04, latency_s=0.09, cached_tokens=0),
        point(1024, 1027, prefix="reused", ttft_s=0.02, latency_s=0.05, cached_tokens=915),
        point(4096, 4092, ttft_s=0.41, latency_s=0.5, cached_tokens=0),
        point(4096, 4092, prefix="reused", ttft_s=0.04, latency_s=0.12, cached_tokens=3977),
        path="api",
        findings=[
            finding(
                "remote_model", "The model runs elsewhere: the memory of this host says nothing about it."
            )
        ],
    )


def begun(*measured: Document) -> Document:
    """A scan that is going on; lengths without a point are still to come."""
    lengths = {entry["target_tokens"] for entry in measured}
    to_come = [point(length) for length in (4096, 16384, 65536) if length not in lengths]
    return document(*measured, *to_come, state="running")
