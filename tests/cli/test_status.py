from __future__ import annotations

import os

import pytest

from kvtop.telemetry.gpu.detect import open_source
from tests.cli.conftest import Kvtop


def test_the_demo_gpu_is_read_and_marked(kvtop: Kvtop) -> None:
    document = kvtop("status", "--demo", "--json").json
    assert document["schema"] == "kvtop.status/1"
    assert document["gpu_source"] == "simulated"
    (gpu,) = document["gpus"]
    assert gpu["source"] == "simulated"
    assert gpu["mem_used_bytes"] > 0
    assert document["failures"] == []
    ran = kvtop("status", "--demo", "--demo-engine", "paged")
    assert ran.code == 0
    assert ran.out.splitlines()[0].endswith("SIMULATED")


def test_a_host_without_this_gpu_says_so_and_reads_the_process(kvtop: Kvtop) -> None:
    ran = kvtop("status", "--gpus", "GPU-none", "--pid", str(os.getpid()))
    assert ran.code == 0
    assert f"pid {os.getpid()}  engine" in ran.out
    document = kvtop("status", "--gpus", "GPU-none", "--json").json
    assert document["gpus"] == []
    assert document["failures"][0]["text"]


@pytest.mark.parametrize("arguments", [(), ("--json",), ("--demo",)])
def test_a_process_that_is_not_there_is_wrong_use(kvtop: Kvtop, arguments: tuple[str, ...]) -> None:
    ran = kvtop("status", "--pid", "4194304", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "There is no process 4194304" in ran.err


def test_a_gpu_that_is_not_there_is_wrong_use(kvtop: Kvtop) -> None:
    ran = kvtop("status", "--demo", "--gpus", "7")
    assert (ran.code, ran.out) == (2, "")
    assert "There is no GPU '7'" in ran.err
    assert kvtop("status", "--demo", "--gpus", "0").code == 0


def test_where_nothing_could_be_opened_the_source_is_none(
    kvtop: Kvtop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "kvtop.cli.status.open_source", lambda gpus: open_source(simulator_url="http://127.0.0.1:1")
    )
    document = kvtop("status", "--json").json
    assert document["gpu_source"] == "none"
    assert document["failures"][0]["code"] == "simulator_unreachable"
