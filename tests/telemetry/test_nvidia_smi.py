"""The fallback source on a real child process that prints what nvidia-smi prints."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from kvtop.telemetry.gpu.nvidia_smi import NvidiaSmiSource
from kvtop.telemetry.gpu.smi_rows import FIELDS
from kvtop.telemetry.gpu.source import (
    AGE,
    MEMORY,
    POWER,
    THROTTLE,
    UTILIZATION,
    DeviceLost,
    FieldMissing,
    GpuUnavailable,
)
from kvtop.telemetry.one_reading import read_once
from kvtop.telemetry.sampler import Sample, Sampler

PATIENCE_S = 30.0
MIB = 2**20


def row(index: int, used_mib: int | str = 1000, *, count: int = 2, power: str = "350.50") -> str:
    identity = f"{{now}}, {count}, {index}, GPU-{index}, 00000000:0{index}:00.0"
    return f"{identity}, {used_mib}, 81920, 87, 41, {power}, 61, 1980, 0x0000000000000004, Fake GPU\n"


def lost_row(index: int) -> str:
    return f"{{now}}, 2, {index}" + ", [GPU is lost]" * (len(FIELDS) - 3) + "\n"


class FakeSmi:
    """A folder with a program `nvidia-smi` that plays `steps`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "nvidia-smi"
        script = folder / "fake_nvidia_smi.py"
        shutil.copy(Path(__file__).with_name(script.name), script)
        self.program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "{script}" "$@"\n')
        self.program.chmod(0o755)

    def plays(self, *steps: dict[str, Any]) -> None:
        (self.folder / "play.json").write_text(json.dumps(steps))

    def gate(self, name: str) -> Path:
        path = self.folder / name
        os.mkfifo(path)
        return path

    @property
    def starts(self) -> list[dict[str, Any]]:
        path = self.folder / "started.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def source(self, *gpus: str, **limits: float) -> NvidiaSmiSource:
        return NvidiaSmiSource(gpus, program=str(self.program), **{"first_row_s": PATIENCE_S, **limits})


@pytest.fixture
def smi(tmp_path: Path) -> Iterator[FakeSmi]:
    fake = FakeSmi(tmp_path)
    yield fake
    for start in fake.starts:
        with suppress(psutil.NoSuchProcess):
            left = psutil.Process(start["pid"])
            assert str(tmp_path) not in " ".join(left.cmdline()), "nvidia-smi was left running"


def eventually(holds: Callable[[], object]) -> None:
    """Ask again until it holds; the reading thread has its own pace."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end
        threading.Event().wait(0.005)


def loses(source: NvidiaSmiSource, device: Any) -> DeviceLost | None:
    try:
        source.read(device, MEMORY)
    except DeviceLost as loss:
        return loss
    return None


def test_gpus_and_their_values(smi: FakeSmi) -> None:
    smi.plays({"print": row(0, 1000) + row(1, 500)})
    source = smi.source()
    first, second = source.open()
    assert (first.index, first.uuid, first.name, first.bus_id) == (0, "GPU-0", "Fake GPU", "00000000:00:00.0")
    values = source.read(second, MEMORY)
    assert (values["mem_used_bytes"], values["mem_total_bytes"]) == (500 * MIB, 81920 * MIB)
    assert 0 <= values[AGE] < PATIENCE_S
    assert source.read(first, UTILIZATION)["util_pct"] == 87
    source.close()


def test_one_child_with_fixed_locale_asks_everything_at_once(smi: FakeSmi) -> None:
    smi.plays({"print": row(0) + row(1)})
    source = smi.source()
    devices = source.open()
    for _ in range(20):
        for device in devices:
            source.read(device, MEMORY)
    source.close()
    [start] = smi.starts
    assert start["LC_ALL"] == "C"
    assert start["argv"] == [
        f"--query-gpu={','.join(FIELDS)}",
        "--format=csv,noheader,nounits",
        "-lms",
        "200",
    ]


def test_rows_in_pieces_and_in_bursts(smi: FakeSmi) -> None:
    gate = smi.gate("gate")
    whole = row(0, 1000) + row(1, 500)
    burst = "".join(row(0, 2000 + step) + row(1, 600 + step) for step in range(500))
    smi.plays(
        {"print": whole[:70]}, {"print": whole[70:]}, {"wait": str(gate)}, {"print": burst + row(0)[:40]}
    )
    source = smi.source()
    first, second = source.open()
    gate.write_bytes(b"go")
    eventually(lambda: source.read(second, MEMORY)["mem_used_bytes"] == 1099 * MIB)
    assert source.read(first, MEMORY)["mem_used_bytes"] == 2499 * MIB
    source.close()


def test_row_that_waited_in_a_buffer_has_its_own_age(smi: FakeSmi) -> None:
    old = time.strftime("%Y/%m/%d %H:%M:%S.000", time.gmtime(time.time() - 5))
    smi.plays({"print": row(0, count=1).replace("{now}", old)})
    source = smi.source()
    [device] = source.open()
    assert 4.9 < source.read(device, MEMORY)[AGE] < PATIENCE_S
    source.close()


def test_local_time_that_is_not_ours_is_not_believed(smi: FakeSmi) -> None:
    smi.plays({"print": row(0, count=1).replace("{now}", "2001/01/01 00:00:00.000")})
    source = smi.source()
    [device] = source.open()
    assert source.read(device, MEMORY)[AGE] < PATIENCE_S
    source.close()


def test_field_without_a_number_is_missing_alone(smi: FakeSmi) -> None:
    smi.plays({"print": row(0, count=1, power="[Unknown Error]")})
    source = smi.source()
    [device] = source.open()
    with pytest.raises(FieldMissing, match="Unknown Error"):
        source.read(device, POWER)
    assert source.read(device, UTILIZATION)["util_pct"] == 87
    with pytest.raises(FieldMissing):
        source.processes(device)
    source.close()


def test_lost_gpu_and_back(smi: FakeSmi) -> None:
    gate, again = smi.gate("gate"), smi.gate("again")
    smi.plays(
        {"print": row(0) + row(1)},
        {"wait": str(gate)},
        {"print": row(0, 2000) + lost_row(1)},
        {"wait": str(again)},
        {"print": row(0, 2000) + row(1, 700)},
    )
    source = smi.source()
    first, second = source.open()
    gate.write_bytes(b"go")
    eventually(lambda: loses(source, second))
    assert source.read(first, MEMORY)["mem_used_bytes"] == 2000 * MIB
    with pytest.raises(DeviceLost, match="fell off the bus"):
        source.recover(second)
    again.write_bytes(b"go")
    eventually(lambda: not loses(source, second))
    assert source.recover(second) == second
    assert source.read(second, MEMORY)["mem_used_bytes"] == 700 * MIB
    assert len(smi.starts) == 1
    source.close()


def test_gpu_that_cannot_be_reached_is_known_by_its_bus(smi: FakeSmi) -> None:
    gate = smi.gate("gate")
    complaint = "Unable to determine the device handle for GPU0000:01:00.0: GPU is lost. Reboot the system\n"
    smi.plays({"print": row(0) + row(1)}, {"wait": str(gate)}, {"print": complaint})
    source = smi.source()
    first, second = source.open()
    gate.write_bytes(b"go")
    eventually(lambda: loses(source, second))
    assert not loses(source, first)
    source.close()


def test_child_that_dies_is_a_failure_and_is_started_again(smi: FakeSmi) -> None:
    gate = smi.gate("gate")
    smi.plays({"print": row(0) + row(1)}, {"wait": str(gate)}, {"print": "Driver gone\n"}, {"exit": 9})
    source = smi.source()
    first, second = source.open()
    gate.write_bytes(b"go")
    eventually(lambda: loses(source, first))
    loss = loses(source, second)
    assert loss is not None
    assert loss.failure is not None
    assert loss.failure.code == "nvidia_smi_ended"
    assert "ended with code 9: Driver gone" in loss.failure.text
    smi.plays({"print": row(0, 3000) + row(1)})
    with suppress(DeviceLost):
        source.recover(first)
    eventually(lambda: not loses(source, first))
    assert source.recover(second) == second
    assert source.read(first, MEMORY)["mem_used_bytes"] == 3000 * MIB
    assert len(smi.starts) == 2
    source.close()


def test_silent_child_is_a_failure_and_is_replaced_once(smi: FakeSmi) -> None:
    smi.plays({"print": row(0, count=1)})
    source = smi.source(silent_s=0.0)
    [device] = source.open()
    loss = loses(source, device)
    assert loss is not None
    assert loss.failure is not None
    assert loss.failure.code == "nvidia_smi_hangs"
    for _ in range(3):
        with pytest.raises(DeviceLost):
            source.recover(device)
    eventually(lambda: len(smi.starts) == 2)
    source.close()


def test_child_that_prints_nothing_is_ended(smi: FakeSmi) -> None:
    smi.plays()
    with pytest.raises(GpuUnavailable) as raised:
        smi.source(first_row_s=0.05).open()
    assert raised.value.failure.code == "nvidia_smi_hangs"


def test_child_without_a_gpu(smi: FakeSmi) -> None:
    smi.plays({"print": "No devices were found\n"}, {"exit": 6})
    with pytest.raises(GpuUnavailable) as raised:
        smi.source().open()
    assert raised.value.failure.code == "nvidia_smi_ended"
    assert "No devices were found" in raised.value.failure.text


def test_missing_program(tmp_path: Path) -> None:
    with pytest.raises(GpuUnavailable) as raised:
        NvidiaSmiSource(program=str(tmp_path / "nvidia-smi")).open()
    assert raised.value.failure.code == "nvidia_smi_missing"


def test_older_driver_is_asked_by_the_older_name(smi: FakeSmi) -> None:
    smi.plays({"refuse": "clocks_event_reasons.active"}, {"print": row(0, count=1)})
    source = smi.source()
    [device] = source.open()
    assert source.read(device, THROTTLE)["throttle_reasons"] == 4
    assert len(smi.starts) == 2
    assert "clocks_throttle_reasons.active" in smi.starts[1]["argv"][0]
    source.close()


def test_unknown_gpu_leaves_no_child(smi: FakeSmi) -> None:
    smi.plays({"print": row(0, count=1)})
    source = smi.source("7")
    with pytest.raises(GpuUnavailable) as raised:
        source.open()
    assert raised.value.failure.code == "no_such_gpu"


def test_forgotten_source_ends_its_child(smi: FakeSmi) -> None:
    smi.plays({"print": row(0, count=1)})
    smi.source().open()
    pid = smi.starts[0]["pid"]
    eventually(lambda: not psutil.pid_exists(pid))


def test_readings_through_the_sampler(smi: FakeSmi) -> None:
    smi.plays({"print": row(0) + row(1)})
    enough = threading.Event()
    samples: list[Sample] = []

    def receive(sample: Sample) -> None:
        samples.append(sample)
        if len(samples) == 3:
            enough.set()

    sampler = Sampler(smi.source(), receive, interval_s=0.005)
    sampler.start()
    assert enough.wait(PATIENCE_S)
    assert sampler.stop(PATIENCE_S)
    gpu = samples[-1].gpus[1]
    assert (gpu.source, gpu.mem_used_bytes, gpu.power_w) == ("nvidia-smi", 1000 * MIB, 350.5)
    assert set(gpu.faults) <= {"processes"}
    assert gpu.ages_s["mem_used_bytes"] > 0
    assert gpu.ts < samples[-1].ts


def test_single_reading(smi: FakeSmi) -> None:
    smi.plays({"print": row(0) + row(1)})
    reading = read_once(smi.source(), timeout_s=PATIENCE_S)
    assert [gpu.mem_used_bytes for gpu in reading.gpus] == [1000 * MIB] * 2
    assert reading.failures == ()
