from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvtop.cli.scan_analysis import analyse_folder
from kvtop.model.endpoint import Endpoint, Price
from kvtop.model.failure import KvtopError
from kvtop.model.plan import RunPath, ScanPlan
from kvtop.runner.assignment import Assignment, RunResult
from kvtop.runner.runner import run
from kvtop.runs.layout import RunFolder, create_run_folder
from kvtop.runs.liveness import effective_state
from kvtop.runs.lock import RunLock
from kvtop.runs.manifest import read_manifest
from kvtop.runs.reader import read_events, read_findings, read_requests
from kvtop.simulator.kv_model import SIMULATED_8B
from kvtop.simulator.process import SimulatorProcess
from kvtop.telemetry.gpu.detect import open_source
from kvtop.telemetry.gpu.source import GpuSource
from tests.experiments.chat_server import CUT, MODEL, UNAUTHORIZED, ChatServer
from tests.experiments.scanning import plan

ALL_FILES = {"run.toml", "run.lock", "requests.jsonl", "requests.csv", "events.jsonl", "findings.json"}
INTERVAL_S = 0.01


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return create_run_folder(tmp_path / "runs", "scan", "m", 1764600000.0)


def assignment(url: str, wanted: ScanPlan, source: GpuSource | None = None, **endpoint: Any) -> Assignment:
    path: RunPath = "api" if source is None else "local"
    target = Endpoint(url, **{"model": MODEL, **endpoint})
    return Assignment(wanted, target, path, analyse_folder, source=source)


def check_whole(folder: RunFolder, result: RunResult, state: str) -> None:
    """A folder that has ended tells the same state everywhere and holds no half-written file."""
    assert result.state == state
    assert read_manifest(folder).state == state
    assert (read_manifest(folder).ended_ts or 0) > 0
    assert effective_state(folder) == state
    events = read_events(folder)
    assert not events.warnings
    assert [event.type for event in (events.events[0], events.events[-1])] == ["started", "finished"]
    assert events.events[-1].data["state"] == state
    findings = read_findings(folder)
    assert findings is not None
    assert findings["state"] == state
    told = [event.data for event in events.events if event.type == "finding"]
    assert [finding["code"] for finding in told] == [finding["code"] for finding in findings["findings"]]
    names = {path.name for path in folder.path.iterdir()}
    assert not {name for name in names if name.startswith(".")}


def test_a_run_on_a_growing_engine_finds_its_bytes_per_token(
    simulator: SimulatorProcess, folder: RunFolder
) -> None:
    source = open_source(simulator_url=simulator.base_url)
    wanted = plan(2048, 8192, 16384, repeats=2, max_tokens=160, interval_s=INTERVAL_S)
    task = assignment(simulator.base_url, wanted, source, model=simulator.model, simulated=True)
    result = run(task, folder)
    check_whole(folder, result, "done")
    assert {path.name for path in folder.path.iterdir()} >= {*ALL_FILES, "gpu.csv"}
    assert [(point["n"], point["failed"]) for point in result.document["points"]] == [(2, 0)] * 3
    slope = result.document["kv_slope"]
    assert slope["bytes_per_token"] == pytest.approx(SIMULATED_8B.bytes_per_token, rel=0.03)
    assert "base" in [e.data["code"] for e in read_events(folder).events if e.type == "note"]


def test_failures_in_a_run_are_told_and_the_run_goes_on(server: ChatServer, folder: RunFolder) -> None:
    server.faults[4] = CUT
    result = run(assignment(server.url, plan(400, 800, repeats=2)), folder)
    check_whole(folder, result, "failed")
    assert result.failure is None
    assert [(point["n"], point["failed"]) for point in result.document["points"]] == [(1, 1), (2, 0)]


def test_an_endpoint_that_refuses_leaves_a_whole_folder(server: ChatServer, folder: RunFolder) -> None:
    server.fault = UNAUTHORIZED
    result = run(assignment(server.url, plan(400)), folder)
    check_whole(folder, result, "failed")
    assert result.failure is not None
    assert result.failure.code == "auth"
    assert result.failure.text in read_events(folder).events[-1].data["text"]


def test_the_budget_ends_a_run_as_cancelled(server: ChatServer, folder: RunFolder) -> None:
    result = run(assignment(server.url, plan(400, 800, repeats=2, max_total_tokens=2500)), folder)
    check_whole(folder, result, "cancelled")
    assert result.failure is not None
    assert result.failure.code == "budget_reached"
    assert server.tokens_spent <= 2500


def test_a_run_in_which_nothing_fits_is_not_called_done(server: ChatServer, folder: RunFolder) -> None:
    result = run(assignment(server.url, plan(10)), folder)
    check_whole(folder, result, "failed")
    assert result.failure is not None
    assert result.failure.code == "nothing_measured"


def test_findings_are_valid_json_after_each_cell(server: ChatServer, folder: RunFolder) -> None:
    seen: list[int] = []

    def look(number: int) -> None:
        document = json.loads(folder.findings_json.read_text())
        seen.append(sum(point["n"] for point in document["points"]))

    server.on_chat = look
    result = run(assignment(server.url, plan(400, 800, repeats=2)), folder)
    check_whole(folder, result, "done")
    assert seen == [0, 0, 0, 1, 2, 3]


def test_the_follower_starts_once_the_run_is_announced(server: ChatServer, folder: RunFolder) -> None:
    seen: list[tuple[str, str]] = []

    def look() -> None:
        seen.append((effective_state(folder), read_events(folder).events[-1].type))

    run(assignment(server.url, plan(400)), folder, on_locked=look)
    assert seen == [("running", "started")]


def test_a_folder_that_another_runner_holds_is_refused(server: ChatServer, folder: RunFolder) -> None:
    with RunLock.hold(folder), pytest.raises(KvtopError) as caught:
        run(assignment(server.url, plan(400)), folder)
    assert caught.value.failure.code == "run_is_live"
    assert server.chats == []


def test_what_is_kept_of_an_endpoint_is_enough_for_a_price_and_no_more(
    server: ChatServer, folder: RunFolder
) -> None:
    price = Price("CNY", input=2.0, output=8.0)
    result = run(assignment(server.url, plan(400), price=price, name="lab"), folder)
    assert result.document["spent"]["currency"] == "CNY"
    assert result.document["spent"]["cost"] > 0
    manifest = read_manifest(folder)
    assert manifest.profile == "lab"
    assert manifest.context["price"] == {"currency": "CNY", "input": 2.0, "output": 8.0}


def test_a_path_to_telemetry_that_does_not_answer_is_noted(server: ChatServer, folder: RunFolder) -> None:
    source = open_source(simulator_url="http://127.0.0.1:1")
    result = run(assignment(server.url, plan(400, interval_s=INTERVAL_S), source), folder)
    assert result.state == "done"
    notes = [event.data for event in read_events(folder).events if event.type == "note"]
    assert [note["code"] for note in notes] == ["engine", "memory", "simulator_unreachable"]
    assert notes[1]["text"] == "memory: none of this host"
    assert notes[2]["text"].startswith("No GPU is read: No simulated GPU")
    assert len(read_requests(folder).records) == 3
