from __future__ import annotations

from kvtop.simulator.kv_model import SIMULATED_8B, KvShape


def test_the_simulated_model_costs_144_kib_a_token() -> None:
    assert SIMULATED_8B.bytes_per_token == 147_456 == 144 * 1024


def test_published_shapes_give_their_published_sizes() -> None:
    assert KvShape(layers=32).bytes_per_token == 128 * 1024  # Llama-3.1-8B
    assert KvShape(layers=30, kv_heads=3, head_dim=64).bytes_per_token == 22.5 * 1024  # SmolLM2-135M
    assert KvShape(element_bytes=1).bytes_per_token == SIMULATED_8B.bytes_per_token // 2
