from __future__ import annotations

import os

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


def test_a_process_that_is_not_there_is_told(kvtop: Kvtop) -> None:
    document = kvtop("status", "--pid", "4194304", "--json").json
    assert any("4194304" in failure["text"] for failure in document["failures"])
