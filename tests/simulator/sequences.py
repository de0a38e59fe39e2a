"""Sequences for tests of the engine's parts."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import count, repeat

from kvtop.simulator.scheduler import Scheduler
from kvtop.simulator.sequence import Sequence, Token

_NEXT_ID = count(1_000_000)


def sequence_of(prompt: Iterable[int], max_tokens: int = 4, received: list[Token] | None = None) -> Sequence:
    tokens = array("I", prompt)
    tokens_received = [] if received is None else received
    answer = repeat(Token(" word", next(_NEXT_ID)))
    return Sequence(tokens, len(tokens), max_tokens, answer, tokens_received.append)


def run_to_end(scheduler: Scheduler, limit: int = 10_000) -> int:
    """Step until nothing is left and return the number of steps."""
    for steps in range(limit):
        step = scheduler.plan()
        if step is None:
            assert not scheduler.running
            assert not scheduler.waiting
            return steps
        scheduler.finish(step)
    raise AssertionError("requests are left over")
