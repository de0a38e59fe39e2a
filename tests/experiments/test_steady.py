from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from kvtop.experiments.steady import LONGEST_WAIT_S, WINDOW_S, SteadyWatch
from kvtop.model.quantity import MIB
from kvtop.model.reading import GpuDevice, GpuReading, ProcessReading
from kvtop.telemetry.sampler import Sample

DEVICE = GpuDevice(0, "GPU-0", "GPU")
INTERVAL_S = 0.1


def sample(ts: float, used: int | None = None, rss: int | None = None) -> Sample:
    gpus = () if used is None else (GpuReading(ts, DEVICE, mem_used_bytes=used),)
    processes = () if rss is None else (ProcessReading(ts, 1, "engine", "engine", rss_bytes=rss),)
    return Sample(ts, gpus, processes)


class Feeding:
    """A clock that goes on by half an interval each time it is asked, and feeds the watch then."""

    def __init__(self, watch: SteadyWatch, memory: Callable[[float], Sample | None]) -> None:
        self._watch = watch
        self._memory = memory
        self._ticks: Iterator[int] = count()
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s = next(self._ticks) * INTERVAL_S / 2
        reading = self._memory(self.now_s)
        if reading is not None:
            self._watch.feed(reading)
        return self.now_s


async def test_memory_that_stands_still_gives_the_base_after_one_window() -> None:
    watch = SteadyWatch()
    clock = Feeding(watch, lambda ts: sample(ts, used=5 * MIB))
    base = await watch.wait(clock, poll_s=0)
    assert base is not None
    assert base.steady
    assert base.to_ts - base.from_ts <= WINDOW_S
    assert clock.now_s < 2 * WINDOW_S


async def test_the_base_begins_only_once_memory_has_stopped_moving() -> None:
    watch = SteadyWatch()
    clock = Feeding(watch, lambda ts: sample(ts, used=round(min(ts, 3.0) * 100 * MIB)))
    base = await watch.wait(clock, poll_s=0)
    assert base is not None
    assert base.steady
    assert base.from_ts >= 2.9


@pytest.mark.parametrize("moves", ["used", "rss"])
async def test_memory_that_never_stands_still_gives_its_last_second(moves: str) -> None:
    watch = SteadyWatch()
    clock = Feeding(watch, lambda ts: sample(ts, **{moves: round(ts * 100 * MIB)}))
    base = await watch.wait(clock, poll_s=0)
    assert base is not None
    assert not base.steady
    assert base.to_ts == pytest.approx(LONGEST_WAIT_S, abs=0.2)
    assert base.to_ts - base.from_ts == pytest.approx(WINDOW_S)


@pytest.mark.parametrize("silent", [None, sample(1.0)])
async def test_without_memory_there_is_no_base(silent: Sample | None) -> None:
    watch = SteadyWatch()
    clock = Feeding(watch, lambda ts: silent)
    assert await watch.wait(clock, poll_s=0) is None
    assert clock.now_s < 3 * WINDOW_S


async def test_rare_samples_need_a_longer_window_of_three() -> None:
    watch = SteadyWatch()
    clock = Feeding(watch, lambda ts: sample(ts, used=MIB) if round(ts * 20) % 12 == 0 else None)
    base = await watch.wait(clock, poll_s=0)
    assert base is not None
    assert base.steady
    assert base.to_ts - base.from_ts == pytest.approx(1.2)
