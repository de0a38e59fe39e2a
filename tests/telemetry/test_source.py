"""Choosing GPUs by name, and the source of a host that has none."""

from __future__ import annotations

import pytest

from kvtop.model.failure import Failure, KvtopError
from kvtop.model.reading import GpuDevice
from kvtop.telemetry.gpu.none import NoGpu
from kvtop.telemetry.gpu.source import GpuUnavailable, select_devices
from kvtop.telemetry.one_reading import read_once

DEVICES = (GpuDevice(0, "GPU-aaaa", "A"), GpuDevice(1, "GPU-abbb", "B"), GpuDevice(10, "MIG-1111", "C"))


@pytest.mark.parametrize(
    ("wanted", "indices"),
    [
        ([], [0, 1, 10]),
        (["0"], [0]),
        (["1"], [1]),
        (["gpu-a"], [0, 1]),
        (["GPU-AB"], [1]),
        (["MIG-1", "0", "0"], [0, 10]),
    ],
)
def test_selection(wanted: list[str], indices: list[int]) -> None:
    assert [device.index for device in select_devices(DEVICES, wanted)] == indices


@pytest.mark.parametrize("wanted", ["2", "GPU-c", "", "-1", "\x1b[31m"])
def test_name_that_fits_no_gpu(wanted: str) -> None:
    with pytest.raises(KvtopError) as raised:
        select_devices(DEVICES, ["0", wanted])
    assert raised.value.failure.code == "no_such_gpu"
    assert "\x1b" not in str(raised.value)
    assert "GPU-aaaa" in raised.value.failure.hint


def test_no_gpu_says_why() -> None:
    source = NoGpu(Failure("nvml_missing", "There is no driver."))
    with pytest.raises(GpuUnavailable) as raised:
        source.open()
    assert raised.value.failure.code == "nvml_missing"
    reading = read_once(source)
    assert (reading.gpus, reading.processes) == ((), ())
    assert reading.failure == source.failure
