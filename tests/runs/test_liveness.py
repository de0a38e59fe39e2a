from __future__ import annotations

import os
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kvtop.model.failure import KvtopError
from kvtop.runs.archive import cancel_run, effective_state
from kvtop.runs.lock import RunLock
from kvtop.runs.manifest import write_manifest
from kvtop.runs.writer import RunWriter
from tests.runs.processes import child, heard
from tests.runs.samples import MANIFEST, event

if TYPE_CHECKING:
    from kvtop.model.event import Event
    from kvtop.runs.layout import RunFolder


def refusal(folder: RunFolder) -> str:
    with pytest.raises(KvtopError) as caught:
        cancel_run(folder)
    assert caught.value.failure.hint
    return caught.value.failure.code


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([], "interrupted"),
        ([event("started")], "interrupted"),
        ([event("started"), event("finished", state="done")], "done"),
        ([event("started"), event("finished", state="failed")], "failed"),
        ([event("started"), event("finished", state="cancelled")], "cancelled"),
        ([event("finished", state="cancelled"), event("started"), event("progress")], "interrupted"),
        ([event("finished", state="cancelled"), event("started"), event("finished", state="done")], "done"),
        ([event("finished", state="done"), event("note", text='"started"')], "done"),
        ([event("finished", state="running")], "interrupted"),
        ([event("finished", state=["done"])], "interrupted"),
        ([event("finished")], "interrupted"),
    ],
)
def test_the_state_is_what_the_events_end_with(folder: RunFolder, events: list[Event], state: str) -> None:
    write_manifest(folder, MANIFEST)
    with RunWriter(folder) as writer:
        for entry in events:
            writer.event(entry)
    assert effective_state(folder) == state


def test_the_manifest_alone_does_not_finish_a_run(folder: RunFolder) -> None:
    write_manifest(folder, replace(MANIFEST, state="done"))
    assert effective_state(folder) == "interrupted"


def test_a_run_is_running_while_it_is_held_and_only_then(folder: RunFolder) -> None:
    with RunLock.hold(folder), RunWriter(folder) as writer:
        writer.event(event("finished", state="done"))
        assert effective_state(folder) == "running"
    assert effective_state(folder) == "done"


def test_a_cut_line_does_not_hide_the_end(folder: RunFolder) -> None:
    with RunWriter(folder) as writer:
        writer.event(event("finished", state="done"))
    with folder.events_jsonl.open("ab") as file:
        file.write(b'"finished"\n{"type":"started"')
    assert effective_state(folder) == "done"


def test_the_end_of_a_long_run_is_found(folder: RunFolder) -> None:
    with RunWriter(folder) as writer:
        writer.event(event("started"))
        for _ in range(1200):
            writer.event(event("note", text="x" * 100))
        writer.event(event("finished", state="failed"))
    assert effective_state(folder) == "failed"


def test_the_holder_is_stopped_by_sigterm(folder: RunFolder) -> None:
    with child("hold", folder) as holder:
        assert heard(holder) == "held"
        assert cancel_run(folder) == holder.pid
        assert holder.wait(30) == -signal.SIGTERM
    assert refusal(folder) == "not_live"


def test_nothing_is_stopped_when_nobody_holds_the_lock(folder: RunFolder) -> None:
    folder.run_lock.write_text(f"{os.getpid()}\n")
    assert refusal(folder) == "not_live"


def test_a_process_that_does_not_have_the_lock_is_not_stopped(folder: RunFolder) -> None:
    with child("hold", folder) as holder, child("hold", type(folder)(folder.path.parent)) as bystander:
        assert heard(holder) == heard(bystander) == "held"
        folder.run_lock.write_text(f"{bystander.pid}\n")
        assert refusal(folder) == "holder_not_found"
        folder.run_lock.write_text("4194303\n")
        assert refusal(folder) == "holder_not_found"
        assert bystander.poll() is None


@pytest.mark.parametrize(
    ("error", "code"), [(ProcessLookupError(), "not_live"), (PermissionError(), "not_permitted")]
)
def test_a_signal_that_does_not_arrive_is_told(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch, error: OSError, code: str
) -> None:
    def fail(pid: int, number: int) -> None:
        raise error

    monkeypatch.setattr(os, "kill", fail)
    with RunLock.hold(folder):
        assert refusal(folder) == code
