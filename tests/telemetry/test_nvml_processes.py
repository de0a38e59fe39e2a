"""Process lists through NVIDIA's bindings, against the fake driver library."""

from __future__ import annotations

from typing import Any

import pytest

from kvtop.telemetry.gpu.nvml_processes import HIGHEST_PID, merge_lists
from kvtop.telemetry.gpu.source import FieldMissing, GpuProcess
from tests.telemetry.conftest import FakeNvml, Outcome

MIB = 2**20


def rows(outcome: Outcome) -> list[dict[str, Any]]:
    return [row for sample in outcome.result["samples"] for row in sample["processes"]]


def test_processes_with_sizes_and_without(fake_nvml: FakeNvml) -> None:
    script = f"process 0 c 4000001 {5 * MIB}\nprocess 0 c 4000002 -1\n"
    outcome = fake_nvml.run("sample", script, ticks=1)
    assert [(row["pid"], row["gpu_mem_bytes"]) for row in rows(outcome)] == [
        (4000001, 5 * MIB),
        (4000002, None),
    ]
    assert {row["kind"] for row in rows(outcome)} == {"other"}
    assert {row["uuid"] for row in rows(outcome)} == {"GPU-00000000-fake"}
    assert {row["name"] for row in rows(outcome)} == {None}


def test_process_in_both_lists_is_one_row(fake_nvml: FakeNvml) -> None:
    script = f"process 0 c 4000001 {5 * MIB}\nprocess 0 g 4000001 {7 * MIB}\nprocess 0 g 4000003 {MIB}\n"
    outcome = fake_nvml.run("sample", script, ticks=1)
    assert [(row["pid"], row["gpu_mem_bytes"]) for row in rows(outcome)] == [
        (4000001, 7 * MIB),
        (4000003, MIB),
    ]


def test_graphics_list_is_asked_once_where_there_is_none(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", f"process 0 c 4000001 {MIB}\n", ticks=100)
    assert outcome.count("nvmlDeviceGetGraphicsRunningProcesses_v3") == 1
    assert outcome.count("nvmlDeviceGetComputeRunningProcesses_v3") == 2 * 5


def test_empty_list_is_told_apart_from_one_not_read(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", ticks=3)
    assert [sample["process_lists"] for sample in outcome.result["samples"]] == [
        ["GPU-00000000-fake"],
        [],
        [],
    ]


@pytest.mark.parametrize("garbled", ["4194305 1048576", "0 1048576", f"1000 {90_000 * MIB}"])
def test_garbled_list_is_dropped_with_its_reason(fake_nvml: FakeNvml, garbled: str) -> None:
    outcome = fake_nvml.run("sample", f"process 0 c 999 {MIB}\nprocess 0 c {garbled}\n", ticks=1)
    assert rows(outcome) == []
    assert "garbled" in outcome.column("faults")[0]["processes"]
    assert outcome.column("mem_used_bytes")[0] is not None


def test_list_that_is_not_permitted_leaves_the_rest(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", "error nvmlDeviceGetComputeRunningProcesses_v3 0 4\n", ticks=50)
    assert "not permitted" in outcome.column("faults")[-1]["processes"]
    assert outcome.count("nvmlDeviceGetComputeRunningProcesses_v3") == 1
    assert None not in outcome.column("mem_used_bytes")


def test_pids_of_another_namespace_are_not_given_a_local_name(fake_nvml: FakeNvml) -> None:
    outcome = fake_nvml.run("sample", f"process 0 c 1 {MIB}\n", ticks=1, host_pids=False)
    [row] = rows(outcome)
    assert (row["name"], row["kind"], row["gpu_mem_bytes"]) == (None, "unknown", MIB)
    outcome = fake_nvml.run("sample", f"process 0 c 1 {MIB}\n", ticks=1, host_pids=True)
    assert rows(outcome)[0]["name"] is not None


def test_highest_pid_is_allowed() -> None:
    process = GpuProcess(HIGHEST_PID, 10)
    assert merge_lists([[process]], total_bytes=10) == (process,)
    with pytest.raises(FieldMissing):
        merge_lists([[GpuProcess(HIGHEST_PID, 11)]], total_bytes=10)
