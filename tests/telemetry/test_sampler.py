"""The sampler's own logic on a clock that a test moves."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from kvtop.model.reading import GpuDevice
from kvtop.telemetry.gpu.source import MEMORY, POWER, DeviceLost, FieldMissing, GpuProcess, Query
from kvtop.telemetry.sampler import SWITCH_S, Sample, Sampler
from tests.telemetry.manual_clock import EPOCH_S, PATIENCE_S, ManualClock, sample_for
from tests.telemetry.scripted_source import ScriptedSource


def test_samples_carry_the_time_of_their_tick() -> None:
    samples, status = sample_for(5, ScriptedSource(), interval_s=0.5)
    assert [sample.ts - EPOCH_S for sample in samples] == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert (status.state, status.last_ts, status.missed) == ("running", EPOCH_S + 2.0, 0)
    assert status.lateness.n == 5
    assert [device.uuid for device in status.devices] == ["GPU-0"]


def test_slower_fields_repeat_with_their_age() -> None:
    samples, _ = sample_for(4, ScriptedSource(), interval_s=0.1)
    ages = [sample.gpus[0].ages_s for sample in samples]
    assert ages[0] == {}
    assert ages[1] == pytest.approx(
        dict.fromkeys(
            ["util_pct", "mem_bw_util_pct", "power_w", "temp_c", "sm_clock_mhz", "throttle_reasons"], 0.1
        )
    )
    assert "util_pct" not in ages[2]
    assert ages[3]["power_w"] == pytest.approx(0.3)
    assert [sample.gpus[0].power_w for sample in samples] == [300.0] * 4


def test_slow_driver_skips_deadlines_and_says_how_late() -> None:
    clock = ManualClock(10)

    def slow_once(device: GpuDevice, query: Query) -> None:
        if query is MEMORY and source.reads[MEMORY.name, 0] == 3:
            clock.now += 0.57

    source = ScriptedSource(before_read=slow_once)
    samples, status = sample_for(10, source, clock=clock, interval_s=0.1)
    at = [round(sample.ts - EPOCH_S, 3) for sample in samples]
    assert at == [0.0, 0.1, 0.2, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4]
    assert status.missed == 5


def test_late_wake_is_in_the_reading_and_in_the_status() -> None:
    class LateClock(ManualClock):
        def wait_until(self, deadline: float, stop: threading.Event) -> bool:
            stopped = super().wait_until(deadline, stop)
            self.now += 0.004
            return stopped

    samples, status = sample_for(3, ScriptedSource(2), clock=LateClock(3))
    assert [gpu.late_s for sample in samples for gpu in sample.gpus] == pytest.approx([0.004] * 6)
    assert status.lateness.p50_s == pytest.approx(0.004)


def test_receiver_that_raises_ends_the_sampling_and_is_told() -> None:
    def full_disk(sample: Sample) -> None:
        raise OSError("no space left on device")

    source = ScriptedSource()
    _, status = sample_for(5, source, sink=full_disk)
    assert status.state == "failed"
    assert status.failure is not None
    assert status.failure.code == "sink_failed"
    assert "no space left" in status.failure.text
    assert source.closed == 1


def test_error_that_nobody_foresaw_is_told() -> None:
    def bug(device: GpuDevice, query: Query) -> None:
        raise ZeroDivisionError

    source = ScriptedSource(before_read=bug)
    _, status = sample_for(5, source)
    assert status.state == "failed"
    assert status.failure is not None
    assert status.failure.code == "sampler_failed"
    assert source.closed == 1


def test_without_gpu_and_engine_there_is_nothing_to_do() -> None:
    samples, status = sample_for(5, ScriptedSource(gpus=0))
    assert (samples, status.state, status.devices) == ([], "failed", ())
    assert status.failure is not None
    assert status.failure.code == "no_gpu"


def test_without_gpu_the_engine_is_still_read() -> None:
    samples, status = sample_for(3, ScriptedSource(gpus=0), engine_pid=os.getpid())
    assert status.state == "running"
    assert [failure.code for failure in status.failures] == ["no_gpu"]
    assert [sample.gpus for sample in samples] == [(), (), ()]
    assert {p.pid for sample in samples for p in sample.processes} >= {os.getpid()}


def test_engine_rows_of_a_tick_share_its_time() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        samples, _ = sample_for(2, ScriptedSource(gpus=0), engine_pid=os.getpid())
    finally:
        child.communicate(b"\n")
    for sample in samples:
        assert {os.getpid(), child.pid} <= {process.pid for process in sample.processes}
        assert {process.ts for process in sample.processes} == {sample.ts}
        assert {(process.kind, process.source) for process in sample.processes} == {("engine", "psutil")}


def test_engine_that_ends_is_told_and_the_gpus_go_on() -> None:
    engine = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    samples: list[Sample] = []

    def end_engine(sample: Sample) -> None:
        samples.append(sample)
        if len(samples) == 3:
            engine.communicate(b"\n")

    _, status = sample_for(6, ScriptedSource(), sink=end_engine, engine_pid=engine.pid)
    assert [bool(sample.processes) for sample in samples] == [True] * 3 + [False] * 3
    assert samples[-1].gpus[0].mem_used_bytes == 10
    assert status.state == "running"
    assert [failure.code for failure in status.failures] == ["engine_gone"]


def test_engine_that_never_was_is_told() -> None:
    _, status = sample_for(2, ScriptedSource(), engine_pid=2**22 + 1)
    assert [failure.code for failure in status.failures] == ["engine_gone"]


def test_gpu_process_of_the_engine_is_known_by_its_pid() -> None:
    source = ScriptedSource(gpus=2)
    source.listed = (GpuProcess(os.getpid(), 5, "mine"), GpuProcess(2**22, 6, "theirs"))
    samples, _ = sample_for(3, source, engine_pid=os.getpid())
    first = [p for p in samples[0].processes if p.uuid]
    assert [(p.name, p.kind, p.gpu_mem_bytes, p.uuid) for p in first] == [
        ("mine", "engine", 5, "GPU-0"),
        ("theirs", "other", 6, "GPU-0"),
    ]
    assert [sample.process_lists for sample in samples] == [("GPU-0",), ("GPU-1",), ()]


def test_rare_ticks_read_several_process_lists() -> None:
    source = ScriptedSource(gpus=8)
    sample_for(5, source, interval_s=1.0, process_interval_s=2.0)
    assert [source.reads["processes", gpu] for gpu in range(8)] == [3, 3, 3, 3, 2, 2, 2, 2]


@pytest.mark.parametrize(("gpus", "reads"), [(2, [3, 3]), (8, [2, 2, 1, 1, 1, 1, 1, 1])])
def test_process_lists_of_many_gpus_are_read_more_rarely(gpus: int, reads: list[int]) -> None:
    source = ScriptedSource(gpus=gpus)
    sample_for(50, source, interval_s=0.1, process_interval_s=2.0, process_gap_s=0.6)
    assert [source.reads["processes", gpu] for gpu in range(gpus)] == reads


def test_failing_field_backs_off_and_leaves_the_others() -> None:
    def no_power(device: GpuDevice, query: Query) -> None:
        if query is POWER and device.index == 0:
            raise FieldMissing("busy")

    source = ScriptedSource(gpus=2, before_read=no_power)
    samples, _ = sample_for(601, source, interval_s=0.1)
    assert source.reads[POWER.name, 0] < 10
    assert source.reads[POWER.name, 1] == 61
    assert samples[-1].gpus[0].power_w is None
    assert samples[-1].gpus[0].faults == {"power_w": "busy"}
    assert samples[-1].gpus[1].faults == {}


def test_permanent_reason_is_checked_rarely() -> None:
    def never(device: GpuDevice, query: Query) -> None:
        if query is POWER:
            raise FieldMissing("not supported", permanent=True)

    source = ScriptedSource(before_read=never)
    sample_for(601, source, interval_s=1.0)
    assert source.reads[POWER.name, 0] == 3


def test_gpu_lost_in_a_slow_field_loses_all_fields_at_once() -> None:
    def lose(device: GpuDevice, query: Query) -> None:
        if query is POWER:
            raise DeviceLost("gone")

    samples, _ = sample_for(1, ScriptedSource(before_read=lose))
    [gpu] = samples[0].gpus
    assert gpu.faults == {"device": "gone"}
    assert (gpu.mem_used_bytes, gpu.util_pct, gpu.temp_c) == (None, None, None)


def test_busy_threads_give_way_soon_enough() -> None:
    for before, after in ((0.005, SWITCH_S), (0.0001, 0.0001)):
        sys.setswitchinterval(before)
        sample_for(1, ScriptedSource())
        assert sys.getswitchinterval() == pytest.approx(after, rel=0.05)
    sys.setswitchinterval(0.005)


def test_stop_from_the_receiver_does_not_wait_for_itself() -> None:
    answers: list[bool] = []
    sampler = Sampler(
        ScriptedSource(), lambda _: answers.append(sampler.stop(PATIENCE_S)), clock=ManualClock(9)
    )
    sampler.start()
    assert sampler.wait_ready(PATIENCE_S)
    assert sampler.stop(PATIENCE_S)
    assert answers == [False]
    assert sampler.status().state == "stopped"


def test_stop_before_start_and_second_start() -> None:
    sampler = Sampler(ScriptedSource(), lambda _: None, clock=ManualClock(1))
    assert sampler.status().state == "new"
    assert sampler.stop()
    sampler.start()
    with pytest.raises(RuntimeError):
        sampler.start()
    assert sampler.stop(PATIENCE_S)


def test_age_grows_and_a_long_tick_counts_as_hanging() -> None:
    inside, release = threading.Event(), threading.Event()

    def block(device: GpuDevice, query: Query) -> None:
        if source.reads[MEMORY.name, 0] == 3:
            inside.set()
            release.wait(PATIENCE_S)

    source = ScriptedSource(before_read=block)
    clock = ManualClock(5)
    sampler = Sampler(source, lambda _: None, clock=clock)
    sampler.start()
    assert inside.wait(PATIENCE_S)
    clock.now += 1.0
    assert sampler.status().state == "running"
    assert sampler.status().age_s == pytest.approx(1.0)
    clock.now += 8.0
    status = sampler.status()
    assert status.state == "hanging"
    assert status.age_s == pytest.approx(9.0)
    assert status.failure is not None
    assert "9 s" in status.failure.text
    release.set()
    assert clock.done.wait(PATIENCE_S)
    assert sampler.status().state == "running"
    assert sampler.stop(PATIENCE_S)


def test_real_clock_delivers_and_stops() -> None:
    enough = threading.Event()
    samples: list[Sample] = []

    def receive(sample: Sample) -> None:
        samples.append(sample)
        if len(samples) == 5:
            enough.set()

    sampler = Sampler(ScriptedSource(), receive, interval_s=0.005)
    sampler.start()
    assert sampler.wait_ready(PATIENCE_S)
    assert enough.wait(PATIENCE_S)
    assert sampler.stop(PATIENCE_S)
    assert [sample.ts for sample in samples] == sorted(sample.ts for sample in samples)
