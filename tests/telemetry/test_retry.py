"""GPUs that come up after kvtop: opening again, ever more rarely."""

from __future__ import annotations

import os
import threading

import pytest

from kvtop.model.failure import Failure
from kvtop.model.reading import GpuDevice
from kvtop.telemetry.gpu.source import GpuUnavailable
from kvtop.telemetry.gpu_list import FIRST_RETRY_S, LONGEST_RETRY_S, GpuList
from kvtop.telemetry.sampler import Sample, Sampler
from tests.telemetry.conftest import FakeNvml
from tests.telemetry.manual_clock import PATIENCE_S, ManualClock, sample_for
from tests.telemetry.scripted_source import ScriptedSource


class LateSource(ScriptedSource):
    """Opens at the n-th try."""

    def __init__(self, opens_at: int) -> None:
        super().__init__()
        self.opens_at = opens_at
        self.tries = 0

    def open(self) -> tuple[GpuDevice, ...]:
        self.tries += 1
        if self.tries < self.opens_at:
            raise GpuUnavailable(Failure("no_gpu", "There is none."))
        return super().open()


def test_source_is_opened_again_until_it_has_gpus() -> None:
    source = LateSource(opens_at=4)
    samples, status = sample_for(10, source, clock=ManualClock(13), retry=True)
    assert source.tries == 4
    assert (status.state, status.failures, status.retry_in_s) == ("running", (), None)
    assert len(samples) == 10


def test_without_retry_the_sampling_ends() -> None:
    source = LateSource(opens_at=4)
    _, status = sample_for(10, source)
    assert (source.tries, status.state) == (1, "failed")


def test_waiting_is_told_with_its_reason_and_can_be_stopped() -> None:
    sampler = Sampler(LateSource(opens_at=99), lambda _: None, clock=ManualClock(0), retry=True)
    sampler.start()
    assert not sampler.wait_ready(PATIENCE_S)
    status = sampler.status()
    assert (status.state, status.retry_in_s) == ("waiting", FIRST_RETRY_S)
    assert [failure.code for failure in status.failures] == ["no_gpu"]
    assert sampler.stop(PATIENCE_S)
    assert (sampler.status().state, sampler.status().retry_in_s) == ("stopped", None)


def test_pauses_double_up_to_a_minute_and_begin_anew() -> None:
    gpus = GpuList(LateSource(opens_at=9))
    pauses = []
    for now in range(8):
        gpus.open(float(now))
        assert gpus.retry_at is not None
        pauses.append(gpus.retry_at - now)
    assert pauses == [1, 2, 4, 8, 16, 32, LONGEST_RETRY_S, LONGEST_RETRY_S]
    gpus.open(8.0)
    assert (gpus.retry_at, gpus.failure, len(gpus.readers)) == (None, None, 1)


def test_engine_is_read_meanwhile_and_the_gpus_join_in() -> None:
    source = LateSource(opens_at=3)
    samples: list[Sample] = []
    _, status = sample_for(60, source, sink=samples.append, engine_pid=os.getpid(), retry=True)
    assert all(sample.processes for sample in samples)
    assert [bool(sample.gpus) for sample in samples].index(True) == 31
    assert status.failures == ()


@pytest.mark.parametrize(
    "script", ["error nvmlInitWithFlags -1 9 1 2\n", "error nvmlDeviceGetCount_v2 -1 999 1 2\n"]
)
def test_nvml_is_started_anew(fake_nvml: FakeNvml, script: str) -> None:
    outcome = fake_nvml.run("sample", script, ticks=5, retry=True)
    assert len(outcome.result["samples"]) == 3
    assert outcome.count("nvmlInitWithFlags", -1) == 3
    started_in_vain = 0 if "Init" in script else 2
    assert outcome.count("nvmlShutdown", -1) == started_in_vain + 1
    assert len({call.thread for call in outcome.calls}) == 1


def test_hung_thread_is_not_replaced(fake_nvml: FakeNvml) -> None:
    before = threading.active_count()
    fifo = fake_nvml.fifo()
    outcome = fake_nvml.run(
        "stop_while_hanging",
        f"hang nvmlInitWithFlags -1 1 {fifo}\n",
        fifo=str(fifo),
        release=False,
        retry=True,
    )
    assert outcome.result["status"]["state"] == "hanging"
    assert outcome.count("nvmlInitWithFlags", -1) == 1
    assert threading.active_count() == before
