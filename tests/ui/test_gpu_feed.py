"""The GPU feed: what samples add up to, its pace, and that nothing waits for a driver."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from textual.message import Message

from kvtop.model.failure import Failure, KvtopError
from kvtop.model.quantity import GIB
from kvtop.model.reading import GpuDevice, GpuReading, ProcessReading
from kvtop.telemetry.gpu.source import GpuProcess, GpuSource, Query, Values
from kvtop.telemetry.sample import Sample
from kvtop.ui.feeds.gpu import GpuFeed
from kvtop.ui.feeds.gpu_state import GpuState
from kvtop.ui.feeds.kept_source import KeptSource
from kvtop.ui.feeds.memory_ring import MemoryRing
from kvtop.ui.messages import GpuSnapshot
from tests.telemetry.scripted_source import ScriptedSource
from tests.ui.gpu_host import RUNNING, gpu, lost_gpu

PATIENCE_S = 20.0


class Told:
    """Receives a feed's messages."""

    def __init__(self) -> None:
        self._queue: queue.Queue[GpuSnapshot] = queue.Queue()

    def post(self, message: Message) -> None:
        assert isinstance(message, GpuSnapshot)
        self._queue.put(message)

    def next(self) -> GpuSnapshot:
        return self._queue.get(timeout=PATIENCE_S)

    def until_states(self, *states: str) -> GpuSnapshot:
        while (told := self.next()).status.state not in states:
            pass
        return told


@contextmanager
def running(source: GpuSource, interval_s: float = 0.02) -> Iterator[tuple[GpuFeed, Told]]:
    told = Told()
    feed = GpuFeed(told.post, source, interval_s)
    feed.start()
    yield feed, told
    feed.stop()


def test_readings_reach_the_app() -> None:
    source = ScriptedSource(gpus=2)
    source.listed = (GpuProcess(4_000_000, 5, "python"),)
    with running(source) as (_, told):
        while not (snapshot := told.next()).processes:
            pass
    assert [reading.device.index for reading in snapshot.readings] == [0, 1]
    assert snapshot.readings[0].mem_used_bytes == 10
    assert snapshot.base_bytes == {"GPU-0": 10, "GPU-1": 10}
    assert snapshot.processes[0].pid == 4_000_000


def test_source_is_made_in_the_feeds_own_thread() -> None:
    threads: list[str] = []

    def make() -> GpuSource:
        threads.append(threading.current_thread().name)
        return ScriptedSource()

    told = Told()
    feed = GpuFeed(told.post, make)
    feed.start()
    told.until_states("running")
    feed.stop()
    assert threads == ["kvtop-gpu-feed"]


def test_source_that_cannot_be_made_is_a_failure_on_screen() -> None:
    def make() -> GpuSource:
        raise KvtopError(Failure("simulator_address", "No simulator there."))

    told = Told()
    GpuFeed(told.post, make).start()
    status = told.next().status
    assert (status.state, [failure.code for failure in status.failures]) == ("failed", ["simulator_address"])


def test_host_without_a_gpu_says_why() -> None:
    with running(ScriptedSource(gpus=0)) as (_, told):
        told_status = told.until_states("waiting", "failed").status
    assert told_status.failures[0].code == "no_gpu"


def test_gpus_that_come_later_are_found() -> None:
    source = ScriptedSource(gpus=0)
    with running(source) as (_, told):
        waiting = told.until_states("waiting").status
        source.devices = ScriptedSource(gpus=1).devices
        found = told.until_states("running")
        while not found.readings:
            found = told.next()
    assert waiting.retry_in_s is not None
    assert found.status.retry_in_s is None
    assert found.readings[0].device.uuid == "GPU-0"


def test_snapshots_come_half_a_second_apart_at_most() -> None:
    with running(ScriptedSource()) as (feed, told):
        feed.pace(0.01)
        told.next()
        told.next()
        begin = time.monotonic()
        told.next()
        told.next()
    assert time.monotonic() - begin > 0.5


def test_slow_samples_once_a_second_and_keeps_the_driver_open() -> None:
    source = ScriptedSource()
    opened: list[None] = []
    original = source.open

    def count() -> tuple[GpuDevice, ...]:
        opened.append(None)
        return original()

    source.open = count  # type: ignore[method-assign]  # a spy
    with running(source) as (feed, told):
        told.next()
        feed.slow(True)
        while feed._interval_s != 1.0:
            told.next()
        reads = source.reads["memory", 0]
        for _ in range(3):
            told.next()
        assert source.reads["memory", 0] - reads <= 4
        assert (len(opened), source.closed) == (1, 0)
        feed.slow(False)
        reads = source.reads["memory", 0]
        while source.reads["memory", 0] - reads < 30:
            told.next()
        sampler = feed._sampler
    assert sampler is not None
    assert sampler.stop(PATIENCE_S)
    assert source.closed == 1


def test_stop_does_not_wait_for_a_hanging_driver() -> None:
    inside, release = threading.Event(), threading.Event()

    def hang(device: GpuDevice, query: Query) -> None:
        inside.set()
        release.wait(PATIENCE_S)

    source = ScriptedSource(before_read=hang)
    with running(source) as (feed, told):
        assert inside.wait(PATIENCE_S)
        told.until_states("hanging")
        begin = time.monotonic()
        feed.stop()
        assert time.monotonic() - begin < PATIENCE_S / 2
    assert source.closed == 0
    release.set()


def test_posting_into_an_app_that_has_ended_is_no_error() -> None:
    tried = threading.Event()

    def post(message: Message) -> None:
        tried.set()
        raise RuntimeError("Event loop is closed")

    feed = GpuFeed(post, ScriptedSource())
    feed.start()
    assert tried.wait(PATIENCE_S)
    feed.stop()


def sample(*readings: GpuReading, ts: float = 100.0, **fields: object) -> Sample:
    return replace(Sample(ts, readings, ()), **fields)  # type: ignore[arg-type]  # a dict of many types


def process(uuid: str | None, pid: int = 7) -> ProcessReading:
    return ProcessReading(100.0, pid, "python", "other", uuid, GIB)


def test_process_lists_of_all_gpus_are_kept_until_read_anew() -> None:
    state = GpuState()
    state.add(sample(gpu(0), gpu(1), processes=(process("GPU-0"),), process_lists=("GPU-0",)))
    state.add(
        sample(gpu(0), gpu(1), processes=(process("GPU-1", 8), process(None, 9)), process_lists=("GPU-1",))
    )
    assert [one.pid for one in state.snapshot(RUNNING, 100.0).processes] == [9, 7, 8]
    state.add(sample(gpu(0), gpu(1), process_lists=("GPU-0",)))
    assert [one.pid for one in state.snapshot(RUNNING, 100.0).processes] == [8]


@pytest.mark.parametrize("gone", [lost_gpu(0), gpu(0, faults={"processes": "not permitted"})])
def test_process_list_that_is_not_told_any_more_is_dropped(gone: GpuReading) -> None:
    state = GpuState()
    state.add(sample(gpu(0), processes=(process("GPU-0"),), process_lists=("GPU-0",)))
    state.add(sample(gone))
    assert state.snapshot(RUNNING, 100.0).processes == ()


def test_base_is_the_first_reading_until_rebased() -> None:
    state = GpuState()
    state.add(sample(lost_gpu(0)))
    state.add(sample(gpu(0, mem_used_bytes=5)))
    state.add(sample(gpu(0, mem_used_bytes=9)))
    assert state.snapshot(RUNNING, 100.0).base_bytes == {"GPU-0": 5}
    state.rebase()
    assert state.snapshot(RUNNING, 100.0).base_bytes == {}
    state.add(sample(gpu(0, mem_used_bytes=9)))
    assert state.snapshot(RUNNING, 100.0).base_bytes == {"GPU-0": 9}


def test_history_holds_peaks_of_whole_seconds() -> None:
    state = GpuState()
    for ts, used in ((100.1, 10), (100.5, 70), (101.2, 35)):
        state.add(sample(gpu(0, mem_used_bytes=used, mem_total_bytes=140), ts=ts))
    assert state.snapshot(RUNNING, 101.9).history == {"GPU-0": (0.5,)}
    assert state.snapshot(RUNNING, 102.0).history == {"GPU-0": (0.5, 0.25)}


def test_history_of_a_lost_gpu_and_of_a_unified_one() -> None:
    state = GpuState()
    shared = gpu(1, mem_used_bytes=GIB, mem_total_bytes=None, unified=True)
    state.add(sample(lost_gpu(0), shared))
    history = state.snapshot(RUNNING, 101.0).history
    assert history["GPU-0"] == (None,)
    share = history["GPU-1"][0]
    assert share is not None
    assert share > 0


def test_ring_repeats_a_missed_second_once_then_has_gaps() -> None:
    ring = MemoryRing(10)
    ring.add(100, {"a": 0.5})
    ring.add(104, {"a": 0.7})
    assert ring.close(104) == {"a": (0.5, 0.5, None, None, 0.7)}


def test_ring_keeps_the_newest_points_in_the_order_of_gpus() -> None:
    ring = MemoryRing(3)
    for second in range(100, 106):
        ring.add(second, {"z": second / 1000, "a": None, "m": 0.0})
    picture = ring.close(105)
    assert list(picture) == ["z", "a", "m"]
    assert picture["z"] == (0.103, 0.104, 0.105)


def test_ring_without_news_is_the_same_object() -> None:
    ring = MemoryRing()
    ring.add(100, {"a": 0.5})
    assert ring.close(100) is ring.close(100)


def test_ring_after_a_long_sleep_is_a_gap() -> None:
    ring = MemoryRing(5)
    ring.add(100, {"a": 0.5})
    ring.close(100)
    ring.add(90_000, {"a": 0.6})
    assert ring.close(90_000) == {"a": (None, None, None, None, 0.6)}


def test_ring_goes_on_when_the_clock_is_set_back() -> None:
    ring = MemoryRing(5)
    ring.add(1000, {"a": 0.5})
    ring.close(1000)
    ring.add(401, {"a": 0.6})
    assert ring.close(400) == {"a": (0.5,)}
    assert ring.close(401) == {"a": (0.5, 0.6)}


def test_kept_source_hands_everything_on() -> None:
    class Changing(ScriptedSource):
        note = Failure("nvidia_smi_instead", "Read through nvidia-smi.")

        def list_again(self) -> tuple[GpuDevice, ...] | None:
            return self.devices[:1]

        def read(self, device: GpuDevice, query: Query) -> Values:
            return {"power_w": 1.0}

    source = Changing(gpus=2)
    kept = KeptSource(source)
    assert (kept.name, kept.note) == ("scripted", source.note)
    assert len(kept.open()) == 2
    assert kept.list_again() == source.devices[:1]
    assert kept.open() == source.devices[:1]
    assert kept.recover(source.devices[0]) == source.devices[0]
    kept.close()
    assert source.closed == 0
    kept.finish()
    kept.close()
    assert source.closed == 1
    plain = KeptSource(ScriptedSource())
    assert (plain.note, plain.list_again()) == (None, None)
