"""The engine in real time: plans a step, waits as long as it would take, delivers its tokens."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kvtop.simulator.answer import answer_to
from kvtop.simulator.scheduler import Scheduler
from kvtop.simulator.sequence import Sequence, Token
from kvtop.simulator.timing import StepLoad, step_seconds

_CATCH_UP_S = 0.25
"""A loop later than this was suspended: the lost time is not made up for."""


@dataclass(frozen=True, slots=True)
class GeneratedAnswer:
    """A request in the engine and the queue on which its tokens arrive."""

    sequence: Sequence
    tokens: asyncio.Queue[Token]


class Engine:
    """Serves requests one step at a time. `run` must be running for tokens to arrive."""

    def __init__(self, scheduler: Scheduler, seed: int = 0, time_scale: float = 1.0) -> None:
        self.scheduler = scheduler
        self.load: StepLoad | None = None
        """The load of the step in progress, None while idle."""
        self._seed = seed
        self._time_scale = time_scale
        self._work = asyncio.Event()

    @contextmanager
    def answering(
        self, prompt: array[int], max_tokens: int, *, ignore_end: bool = False
    ) -> Iterator[GeneratedAnswer]:
        """Queue a prompt; leaving the block early aborts the request and frees its memory."""
        tokens: asyncio.Queue[Token] = asyncio.Queue()
        answer = answer_to(prompt, self._seed, ignore_end=ignore_end)
        sequence = Sequence(prompt[:], len(prompt), max_tokens, answer, tokens.put_nowait)
        self.scheduler.add(sequence)
        self._work.set()
        try:
            yield GeneratedAnswer(sequence, tokens)
        finally:
            self.scheduler.abort(sequence)

    async def run(self) -> None:
        """Work for ever. Each step ends at an absolute time, so waking late does not add up."""
        loop = asyncio.get_running_loop()
        end_s = loop.time()
        while True:
            step = self.scheduler.plan()
            if step is None:
                await self._wait_for_work()
                end_s = loop.time()
                continue
            self.load = step.load
            end_s = _catch_up(end_s, loop.time()) + step_seconds(step.load) / self._time_scale
            await asyncio.sleep(max(end_s - loop.time(), 0))
            self.scheduler.finish(step)

    async def _wait_for_work(self) -> None:
        self.load = None
        self._work.clear()
        await self._work.wait()


def _catch_up(end_s: float, now_s: float) -> float:
    return end_s if now_s - end_s < _CATCH_UP_S else now_s
