"""A driver call that does not return: nothing waits for it, and nothing is closed under it."""

from __future__ import annotations

import pytest

from tests.telemetry.conftest import FakeNvml

SLOWEST = (
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetUtilizationRates",
)


@pytest.mark.parametrize("function", SLOWEST)
def test_process_ends_while_the_driver_hangs(fake_nvml: FakeNvml, function: str) -> None:
    fifo = fake_nvml.fifo()
    outcome = fake_nvml.run(
        "stop_while_hanging", f"hang {function} 0 1 {fifo}\n", fifo=str(fifo), release=False
    )
    assert outcome.result["stopped"] is False
    assert outcome.result["status"]["state"] == "hanging"
    assert outcome.result["status"]["failures"][0]["code"] == "driver_hangs"
    assert outcome.calls[-1].function == function
    assert "nvmlShutdown" not in {call.function for call in outcome.calls}


def test_driver_that_hangs_at_the_start(fake_nvml: FakeNvml) -> None:
    fifo = fake_nvml.fifo()
    script = f"hang nvmlInitWithFlags -1 1 {fifo}\n"
    outcome = fake_nvml.run("stop_while_hanging", script, fifo=str(fifo), release=False)
    assert outcome.result["stopped"] is False
    assert outcome.result["status"]["failures"][0]["code"] == "driver_hangs"
    assert [call.function for call in outcome.calls] == ["nvmlInitWithFlags"]


def test_nvml_is_shut_down_when_the_call_returns_after_all(fake_nvml: FakeNvml) -> None:
    fifo = fake_nvml.fifo()
    script = f"hang nvmlDeviceGetMemoryInfo_v2 0 3 {fifo}\n"
    outcome = fake_nvml.run("stop_while_hanging", script, fifo=str(fifo), release=True)
    assert outcome.result["stopped"] is True
    assert outcome.result["after"]["state"] == "stopped"
    assert outcome.calls[-1].function == "nvmlShutdown"
    assert len({call.thread for call in outcome.calls}) == 1
    assert outcome.result["samples"] == 3


def test_hang_on_demand_and_on(fake_nvml: FakeNvml) -> None:
    control = fake_nvml.folder / "control"
    control.write_text("hang nvmlDeviceGetMemoryInfo_v2 1\n")
    outcome = fake_nvml.run(
        "hang_on_demand",
        f"gpus 2\ncontrol {control}\n",
        control=str(control),
        trace=str(fake_nvml.folder / "trace"),
    )
    assert outcome.result["hanging"]["state"] == "hanging"
    assert outcome.result["hanging"]["age_s"] >= 60.0
    assert (outcome.result["status"]["state"], outcome.result["stopped"]) == ("running", True)
    assert len(outcome.result["samples"]) == 3
    assert outcome.calls[-1].function == "nvmlShutdown"


def test_single_reading_gives_up_on_a_hanging_driver(fake_nvml: FakeNvml) -> None:
    fifo = fake_nvml.fifo()
    outcome = fake_nvml.run("once", f"hang nvmlDeviceGetMemoryInfo_v2 0 1 {fifo}\n", timeout_s=0.05)
    assert outcome.result["gpus"] == []
    assert outcome.result["failures"][0]["code"] == "driver_hangs"
    assert "nvmlShutdown" not in {call.function for call in outcome.calls}
