"""What is read when: NVML, nvidia-smi in its place, or nothing."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from tests.telemetry.conftest import FakeNvml, run_scenario
from tests.telemetry.test_nvidia_smi import FakeSmi, eventually, row


@pytest.fixture
def smi_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSmi:
    folder = tmp_path / "smi"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return FakeSmi(folder)


def test_nvml_is_read_though_there_is_an_nvidia_smi(fake_nvml: FakeNvml, smi_on_path: FakeSmi) -> None:
    smi_on_path.plays({"print": row(0)})
    result = fake_nvml.run("once").result
    assert [gpu["source"] for gpu in result["gpus"]] == ["nvml"]
    assert smi_on_path.starts == []


@pytest.mark.parametrize("code", [4, 9, 18, 999])
def test_driver_that_refuses_nvml_is_not_asked_through_nvidia_smi(
    fake_nvml: FakeNvml, smi_on_path: FakeSmi, code: int
) -> None:
    result = fake_nvml.run("once", f"error nvmlInitWithFlags -1 {code}\n").result
    assert result["gpus"] == []
    assert smi_on_path.starts == []


def test_nvidia_smi_is_read_where_nvml_cannot_be_loaded(smi_on_path: FakeSmi) -> None:
    smi_on_path.plays({"print": row(0, 1000) + row(1, 500)})
    result = run_scenario("once", {"LD_LIBRARY_PATH": "/nonexistent"}, {})
    if not smi_on_path.starts:
        pytest.skip("this machine has a real NVIDIA driver")
    assert [gpu["source"] for gpu in result["gpus"]] == ["nvidia-smi"] * 2
    assert [gpu["mem_used_bytes"] for gpu in result["gpus"]] == [1000 * 2**20, 500 * 2**20]
    assert result["failures"] == []
    [note] = result["notes"]
    assert note["code"] == "nvidia_smi_instead"
    assert "libnvidia-ml.so.1" in note["text"]


def test_what_is_read_instead_is_a_note_and_no_failure(smi_on_path: FakeSmi) -> None:
    smi_on_path.plays({"print": row(0) + row(1)})
    result = run_scenario("sample", {"LD_LIBRARY_PATH": "/nonexistent"}, {"ticks": 3})
    if not smi_on_path.starts:
        pytest.skip("this machine has a real NVIDIA driver")
    status = result["status"]
    assert (status["state"], status["failures"]) == ("running", [])
    assert [note["code"] for note in status["notes"]] == ["nvidia_smi_instead"]


def test_silent_nvidia_smi_does_not_outlive_a_single_reading(smi_on_path: FakeSmi) -> None:
    smi_on_path.plays()
    result = run_scenario("once", {"LD_LIBRARY_PATH": "/nonexistent"}, {"timeout_s": 2.0})
    if not smi_on_path.starts:
        pytest.skip("this machine has a real NVIDIA driver")
    assert result["failures"][0]["code"] == "driver_hangs"
    pid = smi_on_path.starts[0]["pid"]
    eventually(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


def test_both_reasons_are_told_where_neither_works(smi_on_path: FakeSmi) -> None:
    smi_on_path.plays({"print": "NVIDIA-SMI has failed.\n"}, {"exit": 9})
    result = run_scenario("once", {"LD_LIBRARY_PATH": "/nonexistent"}, {})
    if not smi_on_path.starts:
        pytest.skip("this machine has a real NVIDIA driver")
    [failure] = result["failures"]
    assert failure["code"] == "nvml_missing"
    assert "libnvidia-ml.so.1" in failure["text"]
    assert "NVIDIA-SMI has failed." in failure["text"]
