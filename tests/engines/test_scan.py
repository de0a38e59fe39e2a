"""The length scan on real engines: lengths, cold and reused prefixes, memory per token."""

from __future__ import annotations

import pytest

from .scanning import Scanned, scan, shared_tokens
from .servers import RunningServer

LENGTHS = ("--lengths", "1k,4k,8k,16k", "--repeats", "3", "--prefix", "both", "--keep-bodies")
SHORT = ("--lengths", "1k,2k", "--repeats", "2", "--prefix", "both", "--keep-bodies")
TEMPLATE_AND_A_TOKEN = 4
"""Tokens that any two prompts may share: the template's head, and the first piece of a split word."""


def check_lengths(scanned: Scanned) -> None:
    """Every measured prompt is within max(1 %, 16 tokens) of its target."""
    for record in scanned.tagged("cold") + scanned.tagged("reused"):
        assert record.target_tokens is not None
        assert record.prompt_tokens is not None
        allowed = max(record.target_tokens * 0.01, 16)
        assert abs(record.prompt_tokens - record.target_tokens) <= allowed, record.cell


def check_prefixes(server: RunningServer, scanned: Scanned, block: int) -> None:
    """Cold prompts find nothing in the cache but the template; reused ones all shared whole blocks."""
    cold = scanned.tagged("cold")
    for record in cold:
        assert record.cached_tokens is not None
        assert record.cached_tokens <= TEMPLATE_AND_A_TOKEN, record.cell
    for before, record in zip(cold, scanned.tagged("reused"), strict=True):
        shared = shared_tokens(server, scanned.prompts[before.id], scanned.prompts[record.id])
        assert record.cached_tokens is not None
        assert shared > 0.8 * (record.prompt_tokens or 0)
        assert abs(record.cached_tokens - shared) <= block, record.cell


def check_points(scanned: Scanned, repeats: int) -> None:
    """Every point stands on all its repeats."""
    for point in scanned.document["points"]:
        assert (point["n"], point["failed"]) == (repeats, 0), point
        assert point["ttft_s"] > 0
        assert point["latency_s"] > point["ttft_s"]


def test_llama_cpp_short(llama_server: RunningServer) -> None:
    scanned = scan(llama_server, *SHORT)
    check_points(scanned, 2)
    check_lengths(scanned)
    check_prefixes(llama_server, scanned, block=1)


@pytest.mark.heavy_engine
def test_llama_cpp(llama_server: RunningServer) -> None:
    scanned = scan(llama_server, *LENGTHS)
    check_points(scanned, 3)
    check_lengths(scanned)
    check_prefixes(llama_server, scanned, block=1)


def test_a_length_above_the_context_ends_that_length_alone(llama_server: RunningServer) -> None:
    scanned = scan(llama_server, "--lengths", "1k,128k", "--repeats", "2", "--max-tokens", "8", code=1)
    points = {point["target_tokens"]: point for point in scanned.document["points"]}
    assert (points[1024]["n"], points[1024]["failed"]) == (2, 0)
    assert (points[131072]["n"], points[131072]["failures"]) == (0, ["context_length"])
    over = next(finding for finding in scanned.document["findings"] if finding["code"] == "over_context")
    assert "65,536" in over["text"]


def test_vllm(vllm_server: RunningServer) -> None:
    scanned = scan(vllm_server, *LENGTHS)
    check_points(scanned, 3)
    check_lengths(scanned)
    check_prefixes(vllm_server, scanned, block=128)
    codes = {finding["code"] for finding in scanned.document["findings"]}
    # On a CPU the pool's pages become resident when a block is first used: a rise, but not the KV cache's.
    assert codes & {"pool_taken_at_start", "memory_drifts", "rise_too_small", "slope_unclear"}
    assert scanned.document["kv_slope"] is None


GROWING = ("--lengths", "1k,2k,4k", "--repeats", "3", "--max-tokens", "24")


def test_transformers_fp32_memory_per_token(transformers_server_fp32: RunningServer) -> None:
    scanned = scan(transformers_server_fp32, *GROWING)
    check_points(scanned, 3)
    check_lengths(scanned)
    slope = scanned.document["kv_slope"]
    assert slope["origin"] == "process"
    assert slope["bytes_per_token"] == pytest.approx(131_072, rel=0.03)
    assert slope["ci_low"] < slope["bytes_per_token"] < slope["ci_high"]


def test_transformers_bf16_memory_per_token(transformers_server_bf16: RunningServer) -> None:
    """In bfloat16 the CPU kernels keep a converted copy of part of the work, so the error is larger."""
    scanned = scan(transformers_server_bf16, *GROWING)
    check_points(scanned, 3)
    slope = scanned.document["kv_slope"]
    assert slope["bytes_per_token"] == pytest.approx(65_536, rel=0.06)
