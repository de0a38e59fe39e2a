"""Scans of real engines on a CPU, 2 cores, other work beside them; memory read at 0.1 or 0.2 s.

transformers serve 5.19 (float32, 131,072 bytes of keys and values a token), vLLM 0.32.0 (pool of 1 GiB),
llama.cpp by xllamacpp 2026.1 with its prompt cache in host memory, which is the default, and without.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvtop.analysis.scan import analyse_scan
from kvtop.model.plan import ScanPlan
from kvtop.model.record import RequestRecord

SAMPLES = Path(__file__).parent / "samples"


def analyse(name: str, engine: str | None = None) -> dict[str, Any]:
    lines = (SAMPLES / f"{name}.requests.jsonl").read_text().splitlines()
    records = [RequestRecord.from_json(json.loads(line)) for line in lines]
    lengths = tuple(dict.fromkeys(r.target_tokens for r in records if r.target_tokens))
    return analyse_scan(
        ScanPlan(lengths),
        records,
        run="r",
        path="local",
        gpu_csv=b"",
        processes_csv=(SAMPLES / f"{name}.processes.csv").read_bytes(),
        base_windows=(),
        price=None,
        simulated=False,
        state="done",
        engine=engine,
    )


def codes(document: dict[str, Any]) -> set[str]:
    return {finding["code"] for finding in document["findings"]}


def test_transformers_grows_by_its_keys_and_values() -> None:
    document = analyse("transformers-serve-fat-float32")
    slope = document["kv_slope"]
    assert slope["bytes_per_token"] == pytest.approx(131_072, rel=0.03)
    assert slope["ci_low"] < slope["bytes_per_token"] < slope["ci_high"]
    assert slope["r2"] > 0.999
    assert slope["outliers"] == []
    assert not codes(document) & {"pool_taken_at_start", "allocator_keeps", "memory_drifts"}


def test_an_engine_with_a_pool_gets_no_slope_however_well_memory_follows_the_tokens() -> None:
    document = analyse("transformers-serve-fat-float32", engine="vllm")
    assert document["kv_slope"] is None
    assert "memory_drifts" in codes(document)
    assert all(point["mem_delta_bytes"] is None for point in document["points"])


def test_a_pool_whose_pages_become_resident_is_not_called_still() -> None:
    """On a CPU a page of vLLM's pool counts when a block is first used: 58 MiB came, most between repeats."""
    document = analyse("vllm-cpu")
    assert document["kv_slope"] is None
    assert document["memory"]["flat"] is False
    assert "memory_drifts" in codes(document)
    assert all(point["mem_delta_bytes"] is None for point in document["points"])


def test_llama_cpp_moves_a_little_which_is_said_and_not_taken_for_kv() -> None:
    document = analyse("llama-cpp-no-prompt-cache")
    assert document["kv_slope"] is None
    assert document["memory"]["flat"] is None
    (finding,) = [f for f in document["findings"] if f["code"] == "rise_too_small"]
    assert "rose by 3.0 MiB (from 192.1 MiB to 195.1 MiB)" in finding["text"]
    assert "which does not follow the tokens: not attributed to the KV cache" in finding["text"]
    assert "Most engines" in finding["text"]
    assert all(point["mem_delta_bytes"] is None for point in document["points"])
    assert [point["over_base_bytes"] for point in document["memory"]["points"]] == sorted(
        point["over_base_bytes"] for point in document["memory"]["points"]
    )


def test_the_prompt_cache_of_llama_cpp_is_not_taken_for_a_slope() -> None:
    """Each prompt goes to host memory when the next comes: a fit would say 35 KiB/token where 8 are true."""
    document = analyse("llama-cpp-prompt-cache")
    assert document["kv_slope"] is None
    assert "memory_drifts" in codes(document)
    assert all(point["mem_delta_bytes"] is None for point in document["points"])
