"""How long one step of the simulated engine takes."""

from __future__ import annotations

from dataclasses import dataclass

STEP_BASE_S = 0.008
"""Reading the weights once, whatever is in the batch."""
PREFILL_S_PER_TOKEN = 5.5e-6
ATTENTION_S_PER_PAIR = 1.75e-11
"""Time per (new token, token before it) pair of a prefill: what makes TTFT more than linear."""
DECODE_S_PER_SEQUENCE = 1e-4
DECODE_S_PER_CONTEXT_TOKEN = 1.5e-8
"""Reading the keys and values of one token of context once per generated token."""


@dataclass(frozen=True, slots=True)
class StepLoad:
    """What one step has to do."""

    prefill_tokens: int = 0
    prefill_pairs: int = 0
    """Sum over the new prompt tokens of the tokens each one attends to."""
    decode_sequences: int = 0
    decode_context_tokens: int = 0

    def with_prefill(self, start: int, tokens: int) -> StepLoad:
        """Add a chunk of a prompt that begins after `start` tokens."""
        pairs = tokens * start + tokens * tokens // 2
        return StepLoad(
            self.prefill_tokens + tokens,
            self.prefill_pairs + pairs,
            self.decode_sequences,
            self.decode_context_tokens,
        )

    def with_decode(self, context_tokens: int) -> StepLoad:
        """Add one request that generates one token after `context_tokens`."""
        return StepLoad(
            self.prefill_tokens,
            self.prefill_pairs,
            self.decode_sequences + 1,
            self.decode_context_tokens + context_tokens,
        )


def step_seconds(load: StepLoad) -> float:
    """Return the duration of a step in simulated seconds.

    base + prefill tokens + attention pairs (quadratic in the prompt) + batch size + context read.
    """
    return (
        STEP_BASE_S
        + load.prefill_tokens * PREFILL_S_PER_TOKEN
        + load.prefill_pairs * ATTENTION_S_PER_PAIR
        + load.decode_sequences * DECODE_S_PER_SEQUENCE
        + load.decode_context_tokens * DECODE_S_PER_CONTEXT_TOKEN
    )
