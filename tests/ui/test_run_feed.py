from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from kvtop.model.event import Event
from kvtop.runs.layout import RunFolder, create_run_folder
from kvtop.runs.lock import RunLock
from kvtop.runs.manifest import write_manifest
from kvtop.runs.writer import RunWriter, write_findings
from kvtop.ui.feeds import request_tail
from kvtop.ui.feeds.newest_runs import NewestRuns
from kvtop.ui.feeds.runs import ALL_RUNS, LATEST, RunFeed
from kvtop.ui.messages import (
    FailureShown,
    FindingsChanged,
    GpuSnapshot,
    ProgressTold,
    RequestsArrived,
    RunOpened,
)
from tests.runs.samples import GPU, MANIFEST, PROCESS, TS, event, failed, record
from tests.ui.told import ToldMessages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kvtop.model.event import EventType


@pytest.fixture
def told() -> ToldMessages:
    return ToldMessages()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def feed(root: Path, told: ToldMessages) -> Iterator[RunFeed]:
    feed = RunFeed(told.post, root, poll_s=0.01)
    yield feed
    assert feed.stop(5.0)


def new_run(root: Path, after_s: float = 0.0, model: str = "Qwen/Qwen3-8B", **changes: Any) -> RunFolder:
    folder = create_run_folder(root, "scan", model, TS + after_s)
    write_manifest(folder, replace(MANIFEST, created_ts=TS + after_s, plan={"repeats": 3}, **changes))
    return folder


def finished_run(
    root: Path, after_s: float = 0.0, *ids: str, state: str = "done", **changes: Any
) -> RunFolder:
    folder = new_run(root, after_s, **changes)
    with RunWriter(folder) as writer:
        writer.event(event("started", cells=6))
        for request_id in ids:
            writer.request(record(request_id, ts=TS + after_s, end_ts=TS + after_s + 1))
        writer.event(event("progress", done=len(ids), total=6, left_s=1.5, spent_tokens=99))
        writer.event(event("finished", state=state, text="That was it."))
    return folder


@contextmanager
def live_run(root: Path, after_s: float = 0.0) -> Iterator[tuple[RunFolder, RunWriter]]:
    folder = new_run(root, after_s)
    with RunLock.hold(folder), RunWriter(folder) as writer:
        writer.event(event("started", cells=6, simulated=False))
        yield folder, writer


def has_done(done: int, message: ProgressTold) -> bool:
    return message.done == done


def ids(message: RequestsArrived) -> list[str]:
    return [record.id for record in message.records]


def test_the_newest_run_is_told_whole(root: Path, told: ToldMessages, feed: RunFeed) -> None:
    finished_run(root, 0, "old")
    folder = finished_run(root, 60, "r1", "r2")
    write_findings(folder, {"schema": "kvtop.scan/1", "findings": []})
    feed.start()
    progress = told.wait_for(ProgressTold)
    opened = told.wait_for(RunOpened)
    assert (opened.run_id, opened.folder, opened.live) == (folder.id, folder.path, False)
    assert opened.plan == {"repeats": 3}
    assert not opened.simulated
    requests = told.wait_for(RequestsArrived)
    assert (ids(requests), requests.replace) == (["r1", "r2"], True)
    assert told.wait_for(FindingsChanged).document["schema"] == "kvtop.scan/1"
    assert (progress.state, progress.done, progress.total, progress.spent_tokens) == ("done", 2, 6, 99)
    assert (progress.left_s, progress.cell, progress.text) == (None, "", "That was it.")
    assert [type(message) for message in told.all] == [
        RunOpened,
        RequestsArrived,
        FindingsChanged,
        ProgressTold,
    ]


def test_nothing_new_is_nothing_told(root: Path, told: ToldMessages, feed: RunFeed) -> None:
    finished_run(root, 0, "r1")
    feed.start()
    told.wait_for(ProgressTold)
    count = len(told.all)
    feed.open("no-such-run")  # answered in a later batch than the first
    told.wait_for(FailureShown)
    assert len(told.all) == count + 1


def test_a_live_run_tells_each_step(root: Path, told: ToldMessages, feed: RunFeed) -> None:
    feed.start()
    with live_run(root) as (folder, writer):
        assert told.wait_for(RunOpened).live
        assert told.wait_for(RequestsArrived).records == ()
        writer.event(event("cell", cell="4096/cold/1", request="r1", tag="cold"))
        told.wait_for(ProgressTold, lambda m: m.cell == "4096/cold/1" and m.state == "running")
        writer.request(record("r1"))
        writer.event(event("request", id="r1", failure=None))
        writer.event(event("progress", done=1, total=6, left_s=12.5, spent_tokens=4165))
        told.wait_for(RequestsArrived, lambda m: ids(m) == ["r1"])
        told.wait_for(ProgressTold, lambda m: m.done == 1 and m.left_s == 12.5 and m.spent_tokens == 4165)
        write_findings(folder, {"step": 1})
        told.wait_for(FindingsChanged, lambda m: m.document == {"step": 1})
        writer.request(record("r2"))
        assert not told.wait_for(RequestsArrived, lambda m: ids(m) == ["r2"]).replace
        writer.event(event("finished", state="cancelled"))
    told.wait_for(ProgressTold, lambda m: m.state == "cancelled")


def test_the_samples_of_a_live_run_become_snapshots(root: Path, told: ToldMessages, feed: RunFeed) -> None:
    feed.name_gpus({GPU.device.uuid: "NVIDIA H200"})
    total = GPU.mem_total_bytes or 0
    with live_run(root) as (_, writer):
        for second, used in ((0, 0.25), (1, 0.75), (1.5, 0.5), (3, 0.5)):
            writer.gpu(replace(GPU, ts=1000.0 + second, mem_used_bytes=int(total * used)))
        writer.process(replace(PROCESS, ts=990.0, pid=1))
        writer.process(replace(PROCESS, ts=1003.0))
        feed.start()
        snapshot = told.wait_for(GpuSnapshot)
    (reading,) = snapshot.readings
    assert reading.device == GPU.device
    assert (reading.ts, reading.source) == (1003.0, "nvml")
    assert reading.late_s == pytest.approx(GPU.late_s, abs=1e-6)
    assert reading.mem_bw_util_pct is None
    assert snapshot.history[GPU.device.uuid] == pytest.approx((0.25, 0.75, None, 0.5), abs=1e-3, nan_ok=True)
    assert snapshot.base_bytes[GPU.device.uuid] == pytest.approx(total / 4, rel=1e-3)
    assert [process.pid for process in snapshot.processes] == [4242]
    assert (snapshot.status.state, snapshot.status.last_ts) == ("running", 1003.0)


def test_a_finished_run_draws_no_samples(root: Path, told: ToldMessages, feed: RunFeed) -> None:
    folder = finished_run(root)
    with RunWriter(folder, resume=True) as writer:
        writer.gpu(GPU)
    feed.start()
    told.wait_for(ProgressTold)
    feed.open("no-such-run")
    told.wait_for(FailureShown)
    assert not told.of(GpuSnapshot)


def test_a_runner_that_dies_leaves_an_interrupted_run(root: Path, told: ToldMessages, feed: RunFeed) -> None:
    with live_run(root) as (folder, writer):
        feed.start()
        writer.event(event("progress", done=2, total=6, left_s=9.0, spent_tokens=5))
        told.wait_for(ProgressTold, lambda m: m.state == "running" and m.done == 2)
    last = told.wait_for(ProgressTold, lambda m: m.state == "interrupted")
    assert (last.done, last.left_s) == (2, None)
    assert f"kvtop runs resume {folder.id}" in last.text


def test_a_run_of_another_shell_is_opened_by_itself(root: Path, told: ToldMessages, feed: RunFeed) -> None:
    first = finished_run(root, 0, "r1")
    feed.start()
    told.wait_for(RunOpened, lambda m: m.run_id == first.id)
    second = finished_run(root, 0, "r2")
    assert second.id.endswith("-2")
    told.wait_for(RunOpened, lambda m: m.run_id == second.id)
    third = finished_run(root, 60, "r3")
    told.wait_for(RunOpened, lambda m: m.run_id == third.id)


def test_a_chosen_run_is_kept_until_the_latest_is_wanted(
    root: Path, told: ToldMessages, feed: RunFeed
) -> None:
    old, new = finished_run(root, 0, "r1"), finished_run(root, 60, "r2")
    feed.start()
    told.wait_for(ProgressTold, lambda m: m.run_id == new.id)
    feed.open(old.id)
    told.wait_for(ProgressTold, lambda m: m.run_id == old.id)
    newest = finished_run(root, 120, "r3")
    feed.open("no-such-run")
    told.wait_for(FailureShown)
    assert newest.id not in [message.run_id for message in told.of(RunOpened)]
    feed.open(LATEST)
    told.wait_for(RunOpened, lambda m: m.run_id == newest.id)


@pytest.mark.parametrize(
    ("content", "code"), [("schema = ", "unreadable_run"), ("schema = 99\n", "newer_run")]
)
def test_what_cannot_be_read_is_told_once_and_left_out(
    root: Path, told: ToldMessages, feed: RunFeed, content: str, code: str
) -> None:
    good = finished_run(root, 0, "r1")
    bad = create_run_folder(root, "scan", "bad", TS + 60)
    bad.run_toml.write_text(content)
    feed.start()
    told.wait_for(ProgressTold, lambda m: m.run_id == good.id)
    newer = finished_run(root, 120, "r2")
    told.wait_for(ProgressTold, lambda m: m.run_id == newer.id)
    assert [message.failure.code for message in told.of(FailureShown)] == [code]


def test_a_broken_manifest_hides_no_requests_of_a_chosen_run(
    root: Path, told: ToldMessages, feed: RunFeed
) -> None:
    folder = finished_run(root, 0, "r1")
    folder.run_toml.write_text("schema = ")
    feed.open(folder.id)
    feed.start()
    assert told.wait_for(RunOpened).plan == {}
    assert ids(told.wait_for(RequestsArrived)) == ["r1"]
    assert [message.failure.code for message in told.of(FailureShown)] == ["unreadable_run"]


def test_a_newer_run_is_not_opened_though_it_was_chosen(
    root: Path, told: ToldMessages, feed: RunFeed
) -> None:
    folder = finished_run(root, 0, "r1")
    folder.run_toml.write_text("schema = 99\n")
    feed.open(folder.id)
    feed.start()
    assert told.wait_for(FailureShown).failure.code == "newer_run"
    assert not told.of(RunOpened)


def test_an_unreadable_file_is_told_once(root: Path, told: ToldMessages, feed: RunFeed) -> None:
    with live_run(root) as (folder, writer):
        folder.requests_jsonl.mkdir()
        feed.start()
        failure = told.wait_for(FailureShown).failure
        assert failure.code == "unreadable_run"
        assert "requests.jsonl" in failure.text
        for done in range(3):
            writer.event(event("progress", done=done, total=6, spent_tokens=0))
            told.wait_for(ProgressTold, partial(has_done, done))
    assert len(told.of(FailureShown)) == 1


def test_a_root_that_is_no_folder_is_told_once(root: Path, told: ToldMessages, feed: RunFeed) -> None:
    root.mkdir()
    (root / "x").write_text("")
    feed._root = feed._newest._root = root / "x"
    feed.start()
    told.wait_for(FailureShown)
    feed.merge(True)
    told.wait_for(RequestsArrived)
    assert [message.failure.code for message in told.of(FailureShown)] == ["unreadable_folder"]


def test_a_folder_that_goes_away_is_told_once(root: Path, told: ToldMessages, feed: RunFeed) -> None:
    folder = finished_run(root, 0, "r1")
    feed.open(folder.id)
    feed.start()
    told.wait_for(ProgressTold)
    folder.path.rename(root / ".trash")
    assert told.wait_for(FailureShown).failure.code == "run_gone"
    feed.open("no-such-run")
    told.wait_for(FailureShown, lambda m: m.failure.code == "no_such_run")
    assert [message.failure.code for message in told.of(FailureShown)].count("run_gone") == 1


def test_a_request_told_again_and_a_log_cut_short_replace_all(
    root: Path, told: ToldMessages, feed: RunFeed
) -> None:
    with live_run(root) as (folder, writer):
        writer.request(record("r1"))
        writer.request(record("r2"))
        feed.start()
        told.wait_for(RequestsArrived, lambda m: ids(m) == ["r1", "r2"])
        writer.request(failed("r1"))
        again = told.wait_for(RequestsArrived, lambda m: ids(m) == ["r2", "r1"])
        assert again.replace
        assert again.records[1].failure is not None
        folder.requests_jsonl.write_bytes(folder.requests_jsonl.read_bytes().split(b"\n")[0] + b"\n")
        assert told.wait_for(RequestsArrived, lambda m: ids(m) == ["r1"]).replace


def test_a_cut_last_line_waits_for_its_end(root: Path, told: ToldMessages, feed: RunFeed) -> None:
    folder = finished_run(root, 0, "r1")
    line = folder.requests_jsonl.read_bytes().replace(b'"r1"', b'"r2"')
    with folder.requests_jsonl.open("ab") as file:
        file.write(b"not json\n" + line[:20])
    feed.start()
    told.wait_for(ProgressTold)
    assert ids(told.wait_for(RequestsArrived)) == ["r1"]
    with folder.requests_jsonl.open("ab") as file:
        file.write(line[20:])
    assert not told.wait_for(RequestsArrived, lambda m: ids(m) == ["r2"]).replace


def test_the_end_of_a_long_log_comes_first(
    root: Path, told: ToldMessages, feed: RunFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_tail, "FIRST_BYTES", 2000)
    finished_run(root, 0, *(f"r{n}" for n in range(40)))
    feed.start()
    whole = told.wait_for(RequestsArrived, lambda m: len(m.records) == 40)
    assert whole.replace
    first = told.of(RequestsArrived)[0]
    assert 0 < len(first.records) < 40
    assert first.records[-1].id == "r39"


def test_merged_requests_are_those_of_all_runs_in_order(
    root: Path, told: ToldMessages, feed: RunFeed
) -> None:
    old, new = finished_run(root, 0, "1", "2"), finished_run(root, 60, "1")
    feed.start()
    told.wait_for(ProgressTold)
    feed.merge(True)
    merged = told.wait_for(RequestsArrived, lambda m: m.run_id == ALL_RUNS)
    assert ids(merged) == [f"{old.id}/1", f"{old.id}/2", f"{new.id}/1"]
    assert merged.replace
    with live_run(root, 120) as (live, writer):
        writer.request(record("1", ts=TS + 120))
        told.wait_for(RequestsArrived, lambda m: m.run_id == ALL_RUNS and m.replace and len(m.records) == 4)
        writer.request(record("2", ts=TS + 121))
        added = told.wait_for(RequestsArrived, lambda m: m.run_id == ALL_RUNS and not m.replace)
        assert ids(added) == [f"{live.id}/2"]
        assert live.id not in [message.run_id for message in told.of(RequestsArrived)]
        feed.merge(False)
        alone = told.wait_for(RequestsArrived, lambda m: m.run_id == live.id)
        assert (ids(alone), alone.replace) == (["1", "2"], True)


def test_hostile_text_is_clean_and_bounded(root: Path, told: ToldMessages, feed: RunFeed) -> None:
    evil = "\x1b]0;owned\x07\u202e[/]\x00" + "x" * 5000
    with live_run(root) as (_, writer):
        writer.event(event("cell", cell=evil))
        writer.event(event("note", code="n", text=evil))
        writer.gpu(replace(GPU, source=evil))
        feed.start()
        progress = told.wait_for(ProgressTold)
        source = told.wait_for(GpuSnapshot).readings[0].source
    for text in (progress.cell, progress.text, source):
        assert text.isprintable()
        assert text.startswith("[/]xxx")
        assert len(text) <= 400


@pytest.mark.parametrize("kind", ["progress", "started", "cell", "finished", "request"])
def test_events_of_the_wrong_shape_do_no_harm(
    root: Path, told: ToldMessages, feed: RunFeed, kind: EventType
) -> None:
    wrong: list[dict[str, Any]] = [
        {},
        {
            "done": -1,
            "total": "x",
            "left_s": True,
            "spent_tokens": 1.5,
            "cells": [],
            "cell": {},
            "failure": "x",
        },
        {"done": None, "left_s": 1e300, "state": ["done"], "text": {"a": 1}, "failure": {"text": 7}},
    ]
    with live_run(root) as (_, writer):
        for data in wrong:
            writer.event(event(kind, **data))
        writer.event(Event(TS, "progress", {"done": 5, "total": 6}))
        feed.start()
        assert told.wait_for(ProgressTold, lambda m: m.done == 5).left_s is None


def test_a_disk_that_hangs_holds_nobody_up(
    root: Path, told: ToldMessages, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, released = threading.Event(), threading.Event()

    def hang(self: NewestRuns) -> tuple[RunFolder, ...]:
        reached.set()
        released.wait(20)
        return ()

    monkeypatch.setattr(NewestRuns, "folders", hang)
    feed = RunFeed(told.post, root, poll_s=0.01)
    feed.start()
    assert reached.wait(20)
    begun = time.monotonic()
    feed.open("any")
    feed.merge(True)
    assert not feed.stop(0.05)
    assert time.monotonic() - begun < 5
    released.set()
    assert feed.stop(20)
    assert not told.all


def test_no_folder_of_runs_is_no_failure(root: Path, told: ToldMessages, feed: RunFeed) -> None:
    feed.start()
    feed.open("no-such-run")
    assert told.wait_for(FailureShown).failure.code == "no_such_run"
    folder = finished_run(root, 0, "r1")
    feed.open(LATEST)
    told.wait_for(RunOpened, lambda m: m.run_id == folder.id)


def test_a_folder_without_its_manifest_is_waited_for(root: Path, told: ToldMessages, feed: RunFeed) -> None:
    folder = create_run_folder(root, "scan", "begins", TS)
    feed.start()
    other = finished_run(root, -60, "r1")
    told.wait_for(RunOpened, lambda m: m.run_id == other.id)
    write_manifest(folder, replace(MANIFEST, demo="growing"))
    assert told.wait_for(RunOpened, lambda m: m.run_id == folder.id).simulated
    assert not told.of(FailureShown)


def test_an_error_that_nobody_foresaw_is_told(
    root: Path, told: ToldMessages, feed: RunFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: NewestRuns) -> tuple[RunFolder, ...]:
        raise ZeroDivisionError

    monkeypatch.setattr(NewestRuns, "folders", fail)
    feed.start()
    assert told.wait_for(FailureShown).failure.code == "feed_failed"
