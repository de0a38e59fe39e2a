from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvtop.model.event import Event
from kvtop.runs.layout import RunFolder, create_run_folder
from kvtop.runs.manifest import Manifest, write_manifest
from kvtop.runs.reader import read_findings
from kvtop.runs.writer import RunWriter
from tests.cli.conftest import Kvtop
from tests.experiments.chat_server import ChatServer
from tests.runner.program import latest, runs_root, scan_arguments
from tests.runs.samples import record

EARLY, LATE = 1764600000.0, 1764700000.0
PLAN: dict[str, Any] = {"lengths": [4096], "repeats": 1, "prefix": "cold"}
ENDPOINT: dict[str, Any] = {
    "base_url": "http://127.0.0.1:1",
    "model": "qwen",
    "dialect": "openai-chat",
    "key_origin": "none",
}


def finished_run(created_ts: float, model: str = "qwen", state: str = "done") -> RunFolder:
    folder = create_run_folder(runs_root(), "scan", model, created_ts)
    manifest = Manifest(
        kind="scan", state="running", created_ts=created_ts, path="api", plan=PLAN, endpoint=ENDPOINT
    )
    write_manifest(folder, manifest)
    with RunWriter(folder) as writer:
        writer.event(Event(created_ts, "started", {"run": folder.id, "cells": 1, "model": model}))
        writer.request(record("00001"))
        writer.event(Event(created_ts + 1, "finished", {"state": state}))
    return folder


def test_an_empty_archive_says_how_to_begin(kvtop: Kvtop) -> None:
    ran = kvtop("runs", "list")
    assert (ran.code, ran.out) == (0, "")
    assert "Start one with: kvtop scan, or kvtop --demo" in ran.err
    assert kvtop("runs", "list", "--json").json == {"schema": "kvtop.runs.list/1", "runs": []}


def test_the_list_is_newest_first_and_fits_a_terminal(kvtop: Kvtop) -> None:
    ids = [finished_run(EARLY).id, finished_run(LATE, state="failed").id]
    ran = kvtop("runs", "list")
    lines = ran.out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ids[::-1]
    assert [line.split()[1] for line in lines[1:]] == ["failed", "done"]
    assert max(map(len, lines)) <= 80
    assert [run["id"] for run in kvtop("runs", "list", "--json").json["runs"]] == ids[::-1]


def test_a_folder_that_cannot_be_read_is_listed_with_its_reason(kvtop: Kvtop) -> None:
    finished_run(EARLY)
    broken = finished_run(LATE)
    broken.run_toml.write_text("schema = [")
    ran = kvtop("runs", "list")
    assert ran.code == 0
    assert ran.out.splitlines()[1].split()[:2] == [broken.id, "unreadable"]
    assert "not valid TOML" in ran.out


@pytest.mark.parametrize("name", ["latest", "20251202", "20251202T182640Z-scan-qwen"])
def test_a_run_is_found_by_latest_prefix_and_id(kvtop: Kvtop, name: str) -> None:
    finished_run(EARLY)
    late = finished_run(LATE)
    ran = kvtop("runs", "show", name, "--json")
    assert ran.code == 0
    assert ran.json["run"] == late.id


def test_show_prints_a_report_that_fits_a_terminal(kvtop: Kvtop) -> None:
    folder = finished_run(EARLY)
    ran = kvtop("runs", "show")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == f"{folder.id}  done  path api"
    assert "4k    cold  1       0   4,101" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_no_run_and_several_runs(kvtop: Kvtop) -> None:
    ran = kvtop("runs", "show")
    assert (ran.code, ran.out) == (2, "")
    assert "There are no runs in" in ran.err
    finished_run(EARLY)
    finished_run(LATE)
    ran = kvtop("runs", "show", "scan")
    assert ran.code == 2
    assert "may be 2 runs" in ran.err


def test_recompute_rebuilds_damaged_findings(kvtop: Kvtop) -> None:
    folder = finished_run(EARLY)
    folder.findings_json.write_text('{"points": "none"')
    assert kvtop("runs", "show", "--json").json["points"][0]["n"] == 1
    assert read_findings(folder) is None
    assert kvtop("runs", "show", "--recompute").code == 0
    kept = read_findings(folder)
    assert kept is not None
    assert kept["points"][0]["n"] == 1


@pytest.mark.parametrize(
    "findings",
    [
        "[]",
        "{}",
        '{"schema": "kvtop.other/9", "points": 3}',
        '{"schema": "kvtop.scan/1"}',
        '{"schema": "kvtop.scan/1", "run": "r", "path": "local", "points": [{}], "findings": []}',
    ],
)
def test_findings_of_another_kind_are_computed_anew(kvtop: Kvtop, findings: str) -> None:
    finished_run(EARLY).findings_json.write_text(findings)
    ran = kvtop("runs", "show")
    assert ran.code == 0
    assert "4,101" in ran.out


def test_findings_that_cannot_be_written_are_shown(kvtop: Kvtop) -> None:
    folder = finished_run(EARLY)
    folder.findings_json.mkdir()
    ran = kvtop("runs", "show", "--recompute", "--json")
    assert ran.code == 0
    assert ran.json["points"][0]["n"] == 1
    assert "Cannot write" in ran.err


@pytest.mark.parametrize("line", ['lengths = ["x"]', "repeats = 0", 'prefix = "warm"', "max_tokens = -1"])
@pytest.mark.parametrize("action", ["show", "resume"])
def test_a_plan_that_is_none(kvtop: Kvtop, action: str, line: str) -> None:
    folder = finished_run(EARLY)
    key = line.partition(" ")[0]
    kept = [text for text in folder.run_toml.read_text().splitlines() if not text.startswith(key)]
    kept = [text for text in kept if text.strip() not in ("4096,", "]")] if key == "lengths" else kept
    place = kept.index("[plan]") + 1
    folder.run_toml.write_text("\n".join([*kept[:place], line, *kept[place:]]))
    ran = kvtop("runs", action)
    assert (ran.code, ran.out) == (2, "")
    assert f"plan.{key}" in ran.err


def test_a_run_of_another_kind_is_left_alone(kvtop: Kvtop) -> None:
    folder = finished_run(EARLY)
    folder.run_toml.write_text(folder.run_toml.read_text().replace('"scan"', '"concurrency"'))
    for action in ("show", "resume"):
        ran = kvtop("runs", action)
        assert ran.code == 2
        assert "is a concurrency run" in ran.err


def test_a_finished_run_is_followed_to_its_end(kvtop: Kvtop, server: ChatServer) -> None:
    assert kvtop(*scan_arguments(server.url)).code == 0
    ran = kvtop("runs", "follow")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].startswith(f"run {latest().id}  counted-1b  4 cells")
    assert lines[-1] == "run done"
    assert max(map(len, (line for line in lines if "note:" not in line))) <= 80
    events = [json.loads(line) for line in kvtop("runs", "follow", "--json").out.splitlines()]
    assert (events[0]["type"], events[-1]["type"]) == ("started", "finished")


def test_following_a_run_that_failed_or_died_is_told_by_the_exit_code(kvtop: Kvtop) -> None:
    finished_run(EARLY, state="failed")
    assert kvtop("runs", "follow").code == 1
    died = finished_run(LATE)
    died.events_jsonl.write_bytes(died.events_jsonl.read_bytes().splitlines(keepends=True)[0])
    ran = kvtop("runs", "follow")
    assert ran.code == 1
    assert ran.out.splitlines()[-1] == "run interrupted"


def test_events_with_odd_values_are_told_as_far_as_they_go(kvtop: Kvtop) -> None:
    folder = finished_run(EARLY)
    odd = {
        "ts": 1.0,
        "type": "request",
        "ttft_s": "fast",
        "failure": "yes",
        "target_tokens": [],
        "cell": 7,
        "tag": {},
    }
    lines = folder.events_jsonl.read_text().splitlines()
    folder.events_jsonl.write_text("\n".join([lines[0], json.dumps(odd), lines[-1], ""]))
    ran = kvtop("runs", "follow")
    assert ran.code == 0
    assert len(ran.out.splitlines()) == 4


def test_a_run_that_is_over_cannot_be_cancelled(kvtop: Kvtop) -> None:
    folder = finished_run(EARLY)
    ran = kvtop("runs", "cancel")
    assert (ran.code, ran.out) == (2, "")
    assert f"Run {folder.id} is not going on" in ran.err


def test_a_remote_run_is_not_resumed_without_a_yes(kvtop: Kvtop) -> None:
    folder = finished_run(EARLY)
    text = folder.run_toml.read_text().replace("http://127.0.0.1:1", "http://192.0.2.1:9")
    folder.run_toml.write_text(text.replace("repeats = 1", "repeats = 3"))
    ran = kvtop("runs", "resume")
    assert (ran.code, ran.out) == (2, "")
    assert "This run sends 4 requests" in ran.err
    assert "--yes" in ran.err


def test_a_profile_that_points_elsewhere_now_is_not_resumed(kvtop: Kvtop, home: Path) -> None:
    folder = finished_run(EARLY)
    text = folder.run_toml.read_text().replace("[endpoint]", '[endpoint]\nprofile = "lab"')
    folder.run_toml.write_text(text.replace("repeats = 1", "repeats = 3"))
    profile = home / ".config/kvtop/profiles/lab.toml"
    profile.parent.mkdir(parents=True)
    profile.write_text('base_url = "http://127.0.0.1:2"\nmodel = "qwen"\n')
    ran = kvtop("runs", "resume")
    assert ran.code == 2
    assert "Profile lab points to http://127.0.0.1:2" in ran.err


def test_took_is_the_time_of_the_sessions_and_not_of_the_nights_between(kvtop: Kvtop) -> None:
    folder = finished_run(EARLY)
    with RunWriter(folder, resume=True) as writer:
        writer.event(Event(EARLY + 50_000, "started", {"run": folder.id, "cells": 1}))
        writer.event(Event(EARLY + 50_090, "note", {"code": "x", "text": "died after this"}))
        writer.event(Event(EARLY + 90_000, "started", {"run": folder.id, "cells": 1}))
        writer.event(Event(EARLY + 93_605, "finished", {"state": "done"}))
    assert kvtop("runs", "list").out.splitlines()[1].split()[2] == "1h01m"


def test_a_time_that_no_event_tells_is_unknown(kvtop: Kvtop) -> None:
    finished_run(EARLY).events_jsonl.unlink()
    assert kvtop("runs", "list").out.splitlines()[1].split()[2] == "–"


def test_a_long_reason_is_told_below_its_run(kvtop: Kvtop) -> None:
    broken = finished_run(EARLY)
    broken.run_toml.unlink()
    broken.run_toml.mkdir()
    lines = kvtop("runs", "list").out.splitlines()
    assert lines[1].split()[:2] == [broken.id, "unreadable"]
    assert lines[2].startswith(f"  run.toml of {broken.id}:")
    assert max(map(len, lines)) <= 80


def test_the_report_ends_with_the_table_and_tells_what_was_read(kvtop: Kvtop) -> None:
    folder = finished_run(EARLY)
    with RunWriter(folder, resume=True) as writer:
        for code, text in (("memory", "memory: old"), ("memory", "memory: GPU 0 H200")):
            writer.event(Event(EARLY, "note", {"code": code, "text": text}))
        writer.event(Event(EARLY, "note", {"code": "engine", "text": "engine: pid 7 python3"}))
    lines = kvtop("runs", "show").out.splitlines()
    assert lines[1:3] == ["engine: pid 7 python3", "memory: GPU 0 H200"]
    assert lines[-2].split()[0] == "length"
    assert lines[-1].split()[0] == "4k"
