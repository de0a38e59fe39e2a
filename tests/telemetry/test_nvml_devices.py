"""MIG slices, GPUs that come and go, and GPUs that share the host's memory, against the fake driver."""

from __future__ import annotations

import os

import pytest

from tests.telemetry.conftest import FakeNvml

MIB = 2**20
SLICED = """
gpus 2
mig 0 off
mig 1 on
slice 1 9728 300 MIG-aaaa
slice 1 9728 400 MIG-bbbb
error nvmlDeviceGetMemoryInfo_v2 1 4
process 200 c 4242 104857600
"""


def test_slices_are_rows_after_their_gpu(fake_nvml: FakeNvml) -> None:
    gpus = fake_nvml.run("once", SLICED).result["gpus"]
    rows = [(gpu["device"]["index"], gpu["device"]["uuid"], gpu["device"]["slice_index"]) for gpu in gpus]
    assert rows == [
        (0, "GPU-00000000-fake", None),
        (1, "GPU-00000001-fake", None),
        (1, "MIG-aaaa", 0),
        (1, "MIG-bbbb", 1),
    ]
    assert [gpu["device"]["parent_uuid"] for gpu in gpus[2:]] == ["GPU-00000001-fake"] * 2
    assert [gpu["mem_used_bytes"] for gpu in gpus[2:]] == [300 * MIB, 400 * MIB]
    assert gpus[2]["device"]["name"] == "Fake GPU MIG 1g.10gb"


def test_gpu_in_mig_mode_keeps_what_it_tells(fake_nvml: FakeNvml) -> None:
    whole, parent, cut, _ = fake_nvml.run("once", SLICED).result["gpus"]
    assert (whole["util_pct"], whole["faults"]) == (0, {})
    assert (parent["mem_used_bytes"], parent["util_pct"], parent["power_w"]) == (None, None, 350.5)
    assert "MIG" in parent["faults"]["mem_used_bytes"]
    assert parent["faults"]["util_pct"] == cut["faults"]["util_pct"] == "n/a (MIG)"
    assert cut["power_w"] is None
    assert cut["faults"]["power_w"].startswith("n/a (MIG)")


def test_utilization_of_mig_is_not_asked(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", SLICED, ticks=30)
    assert outcome.count("nvmlDeviceGetUtilizationRates", 1) == 0
    assert outcome.count("nvmlDeviceGetUtilizationRates", 200) == 0
    assert outcome.count("nvmlDeviceGetMemoryInfo_v2", 200) == 30


def test_processes_are_listed_once_by_their_slice(fake_nvml: FakeNvml) -> None:
    result = fake_nvml.run("once", SLICED + "process 1 c 4242 104857600\n").result
    assert [(p["pid"], p["uuid"]) for p in result["processes"]] == [(4242, "MIG-aaaa")]


def test_walk_ends_at_the_first_slice_that_is_not_there(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", SLICED, ticks=1)
    assert outcome.count("nvmlDeviceGetMigDeviceHandleByIndex", 1) == 3
    assert outcome.count("nvmlDeviceGetMigDeviceHandleByIndex", 0) == 0


def test_gpu_that_knows_no_mig_is_asked_once(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", "gpus 1\n", ticks=300)
    assert outcome.count("nvmlDeviceGetMigMode") == 1


def test_slices_can_be_chosen(fake_nvml: FakeNvml) -> None:
    for names, uuids in ((["MIG-b"], ["MIG-bbbb"]), (["1"], ["GPU-00000001-fake", "MIG-aaaa", "MIG-bbbb"])):
        gpus = fake_nvml.run("once", SLICED, gpus=names).result["gpus"]
        assert [gpu["device"]["uuid"] for gpu in gpus] == uuids


def test_slices_that_are_made_and_removed_while_watching(fake_nvml: FakeNvml) -> None:
    removed = "mig 1 off\nslice 1 none\n"
    outcome = fake_nvml.run("sample_with_change", SLICED, before=20, ticks=120, change=removed)
    uuids = [[gpu["device"]["uuid"] for gpu in sample["gpus"]] for sample in outcome.result["samples"]]
    assert len(uuids[0]) == 4
    assert uuids[-1] == ["GPU-00000000-fake", "GPU-00000001-fake"]
    assert outcome.result["samples"][-1]["gpus"][1]["util_pct"] == 0
    made = "mig 0 on\nslice 0 9728 100 MIG-cccc\n"
    outcome = fake_nvml.run("sample_with_change", SLICED, before=20, ticks=120, change=made)
    last = outcome.result["samples"][-1]["gpus"]
    assert [gpu["device"]["uuid"] for gpu in last][:2] == ["GPU-00000000-fake", "MIG-cccc"]
    assert last[1]["mem_used_bytes"] == 100 * MIB
    assert all(gpu["ts"] > 0 for sample in outcome.result["samples"] for gpu in sample["gpus"])


def test_gpu_that_comes_while_watching(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample_with_change", "gpus 1\n", before=20, ticks=120, change="gpus 3\n")
    assert [len(sample["gpus"]) for sample in outcome.result["samples"]][::119] == [1, 3]
    assert outcome.result["samples"][-1]["gpus"][2]["mem_used_bytes"] == 1024 * MIB
    assert outcome.count("nvmlDeviceGetHandleByIndex_v2", 0) == 1


def test_gpus_that_are_no_longer_counted_keep_their_rows(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run(
        "sample_with_change", "gpus 3\n", before=20, ticks=120, change="gpus 1\nlost 2 0\n"
    )
    assert {len(sample["gpus"]) for sample in outcome.result["samples"]} == {3}
    assert "device" in outcome.column("faults", gpu=2)[-1]


def test_lost_gpu_tells_since_when(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", "gpus 2\nerror * 1 15 30 33\n", ticks=200)
    since = outcome.column("lost_ts", gpu=1)
    lost = [ts for ts in since if ts is not None]
    assert since[0] is None
    assert since[-1] is None
    assert lost
    assert len(set(lost)) == 1


@pytest.mark.parametrize("script", ["memory 0 0 0\n", "error nvmlDeviceGetMemoryInfo_v2 0 3\n"])
def test_unified_memory_is_the_sum_over_processes(fake_nvml: FakeNvml, script: str) -> None:
    processes = "process 0 c 4242 5000000\nprocess 0 c 4243 7000000\nprocess 0 g 4242 1000\n"
    outcome = fake_nvml.run("sample", script + processes, ticks=30)
    first, last = outcome.result["samples"][0], outcome.result["samples"][-1]
    [gpu] = first["gpus"]
    assert (gpu["unified"], gpu["source"]) == (True, "nvml-processes")
    assert (gpu["mem_used_bytes"], gpu["mem_total_bytes"]) == (12_000_000, None)
    assert "unified" in gpu["faults"]["mem_total_bytes"]
    assert "mem_used_bytes" not in gpu["faults"]
    assert first["host_available_bytes"] > 0
    assert last["gpus"][0]["mem_used_bytes"] == 12_000_000
    assert last["gpus"][0]["ages_s"]["mem_used_bytes"] == pytest.approx(0.9)
    assert last["gpus"][0]["power_w"] == 350.5


@pytest.mark.parametrize("processes", ["", "process 0 c 4242 -1\n", "process 0 c 1 5\nprocess 0 c 2 -1\n"])
def test_unified_memory_without_sizes_is_unknown(fake_nvml: FakeNvml, processes: str) -> None:
    [gpu] = fake_nvml.run("once", f"memory 0 0 0\n{processes}").result["gpus"]
    assert gpu["unified"] is True
    assert gpu["mem_used_bytes"] is None
    assert "unified" in gpu["faults"]["mem_used_bytes"]


def test_memory_of_its_own_is_not_unified(fake_nvml: FakeNvml) -> None:
    result = fake_nvml.run("once", "process 0 c 4242 5000000\n").result
    assert (result["gpus"][0]["unified"], result["gpus"][0]["source"]) == (False, "nvml")
    assert result["host_available_bytes"] is None


def test_foreign_namespace_leaves_kind_and_name_open(fake_nvml: FakeNvml) -> None:
    script = f"process 0 c {os.getpid()} 1000\n"
    outcome = fake_nvml.run("sample", script, ticks=1, host_pids=False, engine_pid=os.getpid())
    [process] = [p for p in outcome.result["samples"][0]["processes"] if p["uuid"]]
    assert (process["kind"], process["name"], process["gpu_mem_bytes"]) == ("unknown", None, 1000)


@pytest.mark.parametrize("count", [8, 16])
def test_many_gpus(fake_nvml: FakeNvml, count: int) -> None:
    script = f"gpus {count}\n" + "".join(f"wave {gpu} {5 + gpu} 1000 70000\n" for gpu in range(count))
    outcome = fake_nvml.run("sample", script + "time 3.7\n", ticks=3)
    used = {gpu["mem_used_bytes"] for gpu in outcome.result["samples"][-1]["gpus"]}
    assert len(used) == count
    assert all(1000 * MIB <= value <= 70000 * MIB for value in used)


def test_ramp_and_loss_follow_the_time_of_the_fake(fake_nvml: FakeNvml) -> None:
    for time_s, used_mib, lost in ((0, 100, False), (5, 150, False), (15, 200, True), (30, 200, False)):
        script = f"gpus 2\nramp 0 0 100 10 200\nlost 1 12 20\ntime {time_s}\n"
        first, second = fake_nvml.run("once", script).result["gpus"]
        assert first["mem_used_bytes"] == used_mib * MIB
        assert ("device" in second["faults"]) is lost
