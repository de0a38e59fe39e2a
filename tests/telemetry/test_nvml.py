"""The NVML source through NVIDIA's own bindings, against a fake driver library in C."""

from __future__ import annotations

import pytest

from tests.telemetry.conftest import FakeNvml

MIB = 2**20
TWO_GPUS = "gpus 2\nmemory 0 81920 1000 2000 3000\nmemory 1 40960 500\nutil 0 87 41\n"


def test_every_field_of_a_gpu(fake_nvml: FakeNvml) -> None:
    gpu = fake_nvml.run("once", TWO_GPUS).result["gpus"][0]
    assert gpu["device"] == {
        "index": 0,
        "uuid": "GPU-00000000-fake",
        "name": "Fake GPU",
        "bus_id": "00000000:01:00.0",
        "parent_uuid": None,
        "slice_index": None,
        "mig": False,
    }
    assert (gpu["mem_used_bytes"], gpu["mem_total_bytes"]) == (1000 * MIB, 81920 * MIB)
    assert (gpu["util_pct"], gpu["mem_bw_util_pct"]) == (87, 41)
    assert (gpu["power_w"], gpu["temp_c"], gpu["sm_clock_mhz"], gpu["throttle_reasons"]) == (
        350.5,
        61,
        1980,
        4,
    )
    assert (gpu["faults"], gpu["source"]) == ({}, "nvml")


def test_memory_is_read_each_tick(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", TWO_GPUS, ticks=4)
    assert outcome.column("mem_used_bytes") == [1000 * MIB, 2000 * MIB, 3000 * MIB, 3000 * MIB]
    assert outcome.column("mem_used_bytes", gpu=1) == [500 * MIB] * 4


def test_slower_fields_are_asked_at_their_own_pace(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", TWO_GPUS, ticks=40, interval_s=0.1)
    for gpu in (0, 1):
        assert outcome.count("nvmlDeviceGetMemoryInfo_v2", gpu) == 40
        assert outcome.count("nvmlDeviceGetUtilizationRates", gpu) == 20
        assert outcome.count("nvmlDeviceGetPowerUsage", gpu) == 4
        assert outcome.count("nvmlDeviceGetTemperatureV", gpu) == 4
        assert outcome.count("nvmlDeviceGetComputeRunningProcesses_v3", gpu) == 2


def test_utilization_is_not_asked_faster_than_it_changes(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", ticks=41, interval_s=0.05)
    assert outcome.count("nvmlDeviceGetMemoryInfo_v2") == 41
    assert outcome.count("nvmlDeviceGetUtilizationRates") == 11


def test_identity_and_handles_are_asked_once(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", TWO_GPUS, ticks=30)
    once = ("HandleByIndex_v2", "UUID", "Name", "PciInfo_v3")
    assert {outcome.count(f"nvmlDeviceGet{name}", gpu) for name in once for gpu in (0, 1)} == {1}


def test_one_thread_asks_everything_from_start_to_shutdown(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", TWO_GPUS, ticks=5)
    threads = {call.thread for call in outcome.calls}
    assert len(threads) == 1
    assert outcome.result["main_thread"] not in threads
    assert outcome.calls[0].function == "nvmlInitWithFlags"
    assert [i for i, call in enumerate(outcome.calls, 1) if call.function == "nvmlShutdown"] == [
        len(outcome.calls)
    ]


def test_no_tick_waits_for_more_than_one_process_list(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", "gpus 4\n", ticks=60)
    lists_in_tick = 0
    for call in outcome.calls:
        if (call.function, call.gpu) == ("nvmlDeviceGetMemoryInfo_v2", 0):
            lists_in_tick = 0
        lists_in_tick += call.function == "nvmlDeviceGetComputeRunningProcesses_v3"
        assert lists_in_tick <= 1


def test_memory_of_all_gpus_comes_before_anything_slower(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", "gpus 3\n", ticks=1)
    functions = [call.function for call in outcome.calls]
    first = functions.index("nvmlDeviceGetMemoryInfo_v2")
    assert functions[first : first + 3] == ["nvmlDeviceGetMemoryInfo_v2"] * 3


def test_old_driver_is_read_through_the_older_calls(fake_nvml: FakeNvml) -> None:
    script = "memory 0 81920 1000\nprocess 0 c 4242 1048576\n"
    outcome = fake_nvml.run("sample", script, old_driver=True, ticks=1)
    [gpu] = outcome.result["samples"][0]["gpus"]
    reserved_by_driver_mib = 300
    assert gpu["mem_used_bytes"] == (1000 + reserved_by_driver_mib) * MIB
    assert (gpu["temp_c"], gpu["throttle_reasons"], gpu["faults"]) == (61, 4, {})
    [process] = outcome.result["samples"][0]["processes"]
    assert (process["pid"], process["gpu_mem_bytes"]) == (4242, MIB)


def test_name_that_is_not_utf8(fake_nvml: FakeNvml) -> None:
    gpu = fake_nvml.run("once", b"name 0 NVIDIA \xc4\xfa\x1b[31m\n").result["gpus"][0]
    assert gpu["device"]["name"] == "NVIDIA ��"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("error nvmlDeviceGetMemoryInfo_v2 0 4\n", "MIG"),
        ("error nvmlDeviceGetMemoryInfo_v2 0 999\n", "Unknown Error"),
        ("error nvmlDeviceGetMemoryInfo_v2 0 777\n", "an error of the fake"),
        ("memory 0 1000 2000\n", "impossible"),
    ],
)
def test_memory_that_is_not_told_is_none_with_its_reason(
    fake_nvml: FakeNvml, script: str, reason: str
) -> None:
    gpu = fake_nvml.run("once", script).result["gpus"][0]
    assert (gpu["mem_used_bytes"], gpu["mem_total_bytes"]) == (None, None)
    assert reason in gpu["faults"]["mem_used_bytes"]
    assert gpu["power_w"] == 350.5


def test_impossible_utilization_is_none(fake_nvml: FakeNvml) -> None:
    gpu = fake_nvml.run("once", "util 0 250 0\n").result["gpus"][0]
    assert gpu["util_pct"] is None
    assert "250" in gpu["faults"]["util_pct"]


def test_what_the_card_does_not_support_is_not_asked_again(fake_nvml: FakeNvml) -> None:
    script = "error nvmlDeviceGetPowerUsage 0 3\nerror nvmlDeviceGetMemoryInfo_v2 0 3\n"
    outcome = fake_nvml.run("sample", script, ticks=100)
    assert outcome.count("nvmlDeviceGetPowerUsage") == 1
    assert outcome.count("nvmlDeviceGetMemoryInfo_v2") == 1
    assert set(outcome.column("power_w")) == {None}
    assert set(outcome.column("temp_c")) == {61}


def test_passing_error_is_retried_and_stays_with_its_gpu(fake_nvml: FakeNvml) -> None:
    script = f"{TWO_GPUS}error nvmlDeviceGetMemoryInfo_v2 0 999 3 4\n"
    outcome = fake_nvml.run("sample", script, ticks=30)
    used = outcome.column("mem_used_bytes")
    assert used[1] is not None
    assert used[2] is None
    assert used[-1] is not None
    assert outcome.count("nvmlDeviceGetMemoryInfo_v2", 0) < 30
    assert None not in outcome.column("mem_used_bytes", gpu=1)
    assert outcome.column("faults")[-1] == {}


def test_lost_gpu_keeps_its_row_and_comes_back(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", "gpus 2\nerror * 1 15 30 33\n", ticks=200)
    faults = outcome.column("faults", gpu=1)
    lost = [i for i, fault in enumerate(faults) if "device" in fault]
    assert lost
    assert lost == list(range(lost[0], lost[-1] + 1))
    assert "fell off the bus" in faults[lost[0]]["device"]
    assert outcome.column("mem_used_bytes", gpu=1)[lost[0]] is None
    assert outcome.column("power_w", gpu=1)[lost[0]] is None
    assert faults[-1] == {}
    assert outcome.column("mem_used_bytes", gpu=1)[-1] == 1024 * MIB
    assert outcome.column("power_w", gpu=1)[-1] == 350.5
    assert outcome.count("nvmlDeviceGetHandleByUUID", 1) >= 1
    assert None not in outcome.column("mem_used_bytes", gpu=0)
    assert outcome.column("faults", gpu=0) == [{}] * 200


def test_gpu_lost_for_good_is_looked_for_ever_more_rarely(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", "error * 0 15 30\n", ticks=1200)
    assert 5 <= outcome.count("nvmlDeviceGetHandleByUUID") <= 12
    assert "device" in outcome.column("faults")[-1]


def test_gpu_lost_before_the_start_has_a_row_and_gets_its_name_later(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", "gpus 2\nerror nvmlDeviceGetHandleByIndex_v2 1 15 1 2\n", ticks=100)
    rows = outcome.column("device", gpu=1)
    assert rows[0]["uuid"] == "unidentified-1"
    assert "device" in outcome.column("faults", gpu=1)[0]
    assert rows[-1]["uuid"] == "GPU-00000001-fake"
    assert outcome.column("mem_used_bytes", gpu=1)[-1] == 1024 * MIB


@pytest.mark.parametrize(
    ("code", "failure", "words"),
    [
        (18, "driver_mismatch", "reload the nvidia kernel modules"),
        (999, "nvml_unknown", "container"),
        (4, "gpu_permission", "/dev/nvidia*"),
        (9, "driver_not_loaded", "modprobe nvidia"),
        (15, "gpu_lost", "Xid"),
        (17, "gpu_permission", "/dev/nvidia*"),
        (777, "nvml_failed", "an error of the fake"),
    ],
)
def test_nvml_that_does_not_start(fake_nvml: FakeNvml, code: int, failure: str, words: str) -> None:
    outcome = fake_nvml.run("sample", f"error nvmlInitWithFlags -1 {code}\n", ticks=1)
    status = outcome.result["status"]
    assert (status["state"], outcome.result["samples"]) == ("failed", [])
    assert status["failures"][0]["code"] == failure
    assert words in status["failures"][0]["text"] + status["failures"][0]["hint"]
    assert "nvmlShutdown" not in {call.function for call in outcome.calls}


def test_driver_without_a_gpu(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("once", "gpus 0\n")
    assert outcome.result["failures"][0]["code"] == "no_gpu"
    assert outcome.calls[-1].function == "nvmlShutdown"


def test_gpus_are_chosen_by_index_or_uuid(fake_nvml: FakeNvml) -> None:
    for name in ("1", "GPU-00000001"):
        gpus = fake_nvml.run("once", TWO_GPUS, gpus=[name]).result["gpus"]
        assert [gpu["device"]["index"] for gpu in gpus] == [1]


def test_unknown_gpu_is_refused(fake_nvml: FakeNvml) -> None:
    failure = fake_nvml.run("once", TWO_GPUS, gpus=["7"]).result["failures"][0]
    assert failure["code"] == "no_such_gpu"
    assert "GPU-00000001-fake" in failure["hint"]
