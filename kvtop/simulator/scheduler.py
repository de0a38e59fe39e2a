"""Continuous batching without a clock: which request gets how many tokens in the next step."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from kvtop.simulator.sequence import Sequence
from kvtop.simulator.storage import KvStorage
from kvtop.simulator.timing import StepLoad

STEP_TOKENS = 8192
"""Most tokens computed in one step; longer prompts are prefilled in chunks."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one request gets of a step."""

    sequence: Sequence
    tokens: int


@dataclass(frozen=True, slots=True)
class Step:
    """One planned step: its shares, and the load that decides how long it takes."""

    shares: tuple[Share, ...]
    load: StepLoad


class Scheduler:
    """Runs at most `max_sequences` requests, first come first served.

    When a running request finds no room, the youngest running one is preempted: it gives up its
    memory and goes back to the head of the queue, to be computed again.
    """

    def __init__(self, storage: KvStorage, max_sequences: int) -> None:
        self.storage = storage
        self.preemptions = 0
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self._max_sequences = max_sequences
        self._head_waits_for_room = False

    def add(self, sequence: Sequence) -> None:
        """Queue a request."""
        self.waiting.append(sequence)

    def abort(self, sequence: Sequence) -> None:
        """Drop a request wherever it is; one that has ended is left alone."""
        if sequence.ended:
            return
        if sequence in self.running:
            self._leave(sequence)
        else:
            self.waiting.remove(sequence)
            self._head_waits_for_room = False
        sequence.ended = True

    def plan(self) -> Step | None:
        """Decide the next step; None when there is nothing to compute."""
        shares: list[Share] = []
        preempted = self._continue_running(shares)
        if not preempted:
            self._admit_waiting(shares)
        if not shares:
            return None
        return Step(tuple(shares), _load_of(shares))

    def finish(self, step: Step) -> None:
        """Account for a computed step and deliver the tokens it generated."""
        for share in step.shares:
            if not share.sequence.ended:
                self._advance(share.sequence, share.tokens)

    def _continue_running(self, shares: list[Share]) -> bool:
        preempted = False
        budget = STEP_TOKENS
        for sequence in tuple(self.running):
            tokens = min(_pending(sequence), budget)
            while sequence in self.running and not self._make_room(sequence, tokens):
                self._preempt(self.running[-1])
                preempted = True
            if tokens and sequence in self.running:
                shares.append(Share(sequence, tokens))
                budget -= tokens
        return preempted

    def _admit_waiting(self, shares: list[Share]) -> None:
        budget = STEP_TOKENS - sum(share.tokens for share in shares)
        while self.waiting and budget and len(self.running) < self._max_sequences:
            if not self._open_head():
                return
            sequence = self.waiting.popleft()
            self.running.append(sequence)
            tokens = min(_pending(sequence), budget)
            self._make_room(sequence, tokens)
            shares.append(Share(sequence, tokens))
            budget -= tokens

    def _open_head(self) -> bool:
        # A lookup of a long prompt is not cheap, so a refused head asks again only after room was made.
        if self._head_waits_for_room:
            return False
        opened = self.storage.open(self.waiting[0])
        self._head_waits_for_room = not opened
        return opened

    def _make_room(self, sequence: Sequence, tokens: int) -> bool:
        return self.storage.extend(sequence, sequence.computed_tokens + tokens)

    def _advance(self, sequence: Sequence, tokens: int) -> None:
        sequence.computed_tokens += tokens
        self.storage.commit(sequence)
        if _pending(sequence):
            return
        token = next(sequence.answer)
        sequence.tokens.append(token.id)
        if token.finish_reason is None and sequence.generated_tokens == sequence.max_tokens:
            token = replace(token, finish_reason="length")
        if token.finish_reason:
            self._leave(sequence)
            sequence.ended = True
        sequence.deliver(token)

    def _preempt(self, sequence: Sequence) -> None:
        self._leave(sequence)
        sequence.computed_tokens = 0
        self.waiting.appendleft(sequence)
        self.preemptions += 1

    def _leave(self, sequence: Sequence) -> None:
        self.running.remove(sequence)
        self.storage.close(sequence)
        self._head_waits_for_room = False


def _pending(sequence: Sequence) -> int:
    return len(sequence.tokens) - sequence.computed_tokens


def _load_of(shares: list[Share]) -> StepLoad:
    load = StepLoad()
    for share in shares:
        sequence = share.sequence
        if sequence.generated_tokens and _pending(sequence) == 1:
            load = load.with_decode(len(sequence.tokens))
        else:
            load = load.with_prefill(sequence.computed_tokens, share.tokens)
    return load
