from __future__ import annotations

import os
from pathlib import Path

import pytest

from kvtop.cli.scan_analysis import analyse_folder
from kvtop.model.endpoint import Endpoint
from kvtop.model.reading import GpuDevice
from kvtop.runner.assignment import Assignment
from kvtop.runner.runner import run
from kvtop.runner.watching import memory_read
from kvtop.runs.layout import RunFolder, create_run_folder
from kvtop.runs.reader import read_events
from kvtop.telemetry.gpu.detect import open_source
from tests.experiments.chat_server import MODEL, ChatServer
from tests.experiments.scanning import plan


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return create_run_folder(tmp_path / "runs", "scan", "m", 1764600000.0)


def notes(folder: RunFolder) -> dict[str, str]:
    found = [event.data for event in read_events(folder).events if event.type == "note"]
    assert len({note["code"] for note in found}) == len(found)
    return {note["code"]: note["text"] for note in found}


@pytest.mark.usefixtures("quick_base")
def test_the_engine_that_is_read_is_named_and_a_missing_gpu_told_once_and_short(
    server: ChatServer, folder: RunFolder
) -> None:
    task = Assignment(
        plan(400, interval_s=0.01),
        Endpoint(server.url, MODEL),
        "local",
        analyse_folder,
        source=open_source(simulator_url="http://127.0.0.1:1"),
        engine_pid=os.getpid(),
        engine_found="found by port 8000",
    )
    run(task, folder)
    told = notes(folder)
    assert told["engine"].startswith(f"engine: pid {os.getpid()} ")
    assert told["engine"].endswith(" (found by port 8000)")
    assert told["memory"] == "memory: the engine's process and its children"
    assert told["simulator_unreachable"].startswith("No GPU is read: ")
    types = [(event.type, event.data.get("code")) for event in read_events(folder).events]
    assert types.index(("note", "simulator_unreachable")) < types.index(("cell", None))


def test_a_remote_engine_has_no_memory_here(server: ChatServer, folder: RunFolder) -> None:
    run(Assignment(plan(400), Endpoint(server.url, MODEL), "api", analyse_folder), folder)
    assert notes(folder) == {"memory": "memory: none of this host"}


def test_gpus_are_named_up_to_four() -> None:
    devices = [GpuDevice(index, f"GPU-{index}", "H200") for index in range(6)]
    assert memory_read(devices[:1], engine=False) == "memory: GPU 0 H200"
    assert memory_read(devices, engine=True) == (
        "memory: GPU 0 H200, GPU 1 H200, GPU 2 H200, GPU 3 H200 and 2 more, "
        "the engine's process and its children"
    )
