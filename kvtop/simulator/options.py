"""What a simulator can be told at start, and its limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EngineKind = Literal["paged", "growing"]
ENGINE_KINDS: tuple[EngineKind, ...] = ("paged", "growing")

MODEL_ID = "simulated-8b"
DEFAULT_CONTEXT_TOKENS = 128 * 1024 + 8 * 1024
"""Room for a prompt of 128k, its template and an answer of up to 8k."""


@dataclass(frozen=True, slots=True)
class SimulatorOptions:
    """The settings of one simulator process."""

    engine: EngineKind = "growing"
    """`paged` takes its KV pool at start, `growing` allocates as the context grows."""
    port: int = 0
    """TCP port on 127.0.0.1; 0 lets the system choose."""
    seed: int = 0
    """Seed of the answers and of the jitter on power and temperature."""
    context: int = DEFAULT_CONTEXT_TOKENS
    """Longest prompt plus answer, in tokens."""
    max_seqs: int = 32
    """Most requests that run at once; the others wait in order of arrival."""
    blocks: int | None = None
    """Blocks of the paged pool, the null block included; None fills the device memory."""
    time_scale: float = 1.0
    """How many simulated seconds pass in a real one."""
