from __future__ import annotations

import asyncio
import selectors
from array import array
from itertools import pairwise
from typing import Any

import pytest

from kvtop.simulator.engine import Engine
from kvtop.simulator.paged import PagedStorage
from kvtop.simulator.scheduler import Scheduler
from kvtop.simulator.timing import StepLoad, step_seconds

LATE_S = 0.0008
PROMPT = array("I", range(100))


class LateLoop(asyncio.SelectorEventLoop):
    """A loop without real time: its clock jumps to the next timer, and always a little past it."""

    def __init__(self) -> None:
        self.now_s = 0.0
        selector = selectors.DefaultSelector()
        poll = selector.select

        def jump(timeout: float | None = None) -> Any:
            if timeout:
                self.now_s += timeout + LATE_S
            return poll(0)

        selector.select = jump  # type: ignore[method-assign]  # the clock lives in the waiting
        super().__init__(selector)

    def time(self) -> float:
        return self.now_s


def _engine(**options: Any) -> Engine:
    return Engine(Scheduler(PagedStorage(1000, 1), 8), **options)


async def _token_times(engine: Engine, number: int) -> list[float]:
    loop = asyncio.get_running_loop()
    times_s = []
    running = asyncio.create_task(engine.run())
    with engine.answering(PROMPT, number, ignore_end=True) as answer:
        for _ in range(number):
            await answer.tokens.get()
            times_s.append(loop.time())
    running.cancel()
    return times_s


def _expected_end_s(number: int) -> float:
    decoding = [StepLoad().with_decode(len(PROMPT) + i) for i in range(1, number)]
    return sum(map(step_seconds, [StepLoad().with_prefill(0, len(PROMPT)), *decoding]))


@pytest.mark.parametrize("time_scale", [1.0, 4.0])
def test_late_wake_ups_do_not_add_up(time_scale: float) -> None:
    with asyncio.Runner(loop_factory=LateLoop) as runner:
        times_s = runner.run(_token_times(_engine(time_scale=time_scale), 500))
    assert times_s == sorted(times_s)
    assert times_s[-1] - _expected_end_s(500) / time_scale == pytest.approx(LATE_S, abs=LATE_S)


def test_lost_time_is_not_made_up_for() -> None:
    async def interrupted() -> list[float]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, LateLoop)
        loop.call_later(0.1, _lose_a_minute, loop)
        return await _token_times(_engine(), 100)

    with asyncio.Runner(loop_factory=LateLoop) as runner:
        times_s = runner.run(interrupted())
    steps_s = [later - earlier for earlier, later in pairwise(times_s)]
    assert max(steps_s) > 60
    assert min(steps_s) > 0.005, "tokens came in a burst"


def _lose_a_minute(loop: LateLoop) -> None:
    loop.now_s += 60


async def test_leaving_early_frees_the_request() -> None:
    engine = _engine(time_scale=100)
    running = asyncio.create_task(engine.run())
    with engine.answering(PROMPT, 1000, ignore_end=True) as answer:
        await answer.tokens.get()
        assert engine.scheduler.running == [answer.sequence]
        assert engine.load is not None
    assert not engine.scheduler.running
    running.cancel()


async def test_a_cancelled_client_frees_a_waiting_request() -> None:
    engine = _engine()

    async def ask() -> None:
        with engine.answering(PROMPT, 10) as answer:
            await answer.tokens.get()

    client = asyncio.create_task(ask())
    await asyncio.sleep(0)  # the client's first step queues its request
    assert engine.scheduler.waiting
    client.cancel()
    await asyncio.wait((client,))
    assert not engine.scheduler.waiting
