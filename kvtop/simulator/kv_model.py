"""How many bytes of key/value cache one token costs the simulated model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KvShape:
    """The part of a model's shape that its KV cache depends on; by default that of an 8B model."""

    layers: int = 36
    kv_heads: int = 8
    head_dim: int = 128
    element_bytes: int = 2
    """2 for bf16 and fp16, 1 for fp8."""

    @property
    def bytes_per_token(self) -> int:
        """KV bytes of one token: 2·L·n_kv·d·b, a key and a value per layer, head and dimension."""
        return 2 * self.layers * self.kv_heads * self.head_dim * self.element_bytes


SIMULATED_8B = KvShape()
"""36 layers, 8 KV heads of 128 dimensions, bf16: 147,456 bytes (144 KiB) a token."""
