from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from kvtop.model.failure import KvtopError
from kvtop.runs.follow import START_S, follow
from kvtop.runs.lock import RunLock
from kvtop.runs.rows import json_line
from tests.runs.processes import child, end, heard, tell
from tests.runs.samples import event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kvtop.model.event import Event
    from kvtop.runs.layout import RunFolder

STARTED, DONE = event("started", run="r"), event("finished", state="done")


def add(folder: RunFolder, data: bytes) -> None:
    with folder.events_jsonl.open("ab") as file:
        file.write(data)


def line(entry: Event) -> bytes:
    return json_line(entry.to_json())


def script(*steps: Callable[[], object]) -> Callable[[float], None]:
    """Return a `wait` that does the next step each time; running out of steps fails the test."""
    left: Iterator[Callable[[], object]] = iter(steps)

    def wait(_: float) -> None:
        next(left)()

    return wait


def kinds(events: Iterator[Event]) -> list[tuple[str, object]]:
    return [(entry.type, entry.data.get("state")) for entry in events]


def test_a_finished_run_is_told_from_its_start(folder: RunFolder) -> None:
    add(folder, line(STARTED) + line(event("cell", cell="c")) + line(DONE))
    assert list(follow(folder, wait=script())) == [STARTED, event("cell", cell="c"), DONE]


def test_a_live_run_is_told_as_it_goes(folder: RunFolder) -> None:
    with RunLock.hold(folder):
        wait = script(
            lambda: add(folder, line(STARTED)),
            lambda: None,
            lambda: add(folder, line(event("progress", done=1)) + line(DONE)),
        )
        assert list(follow(folder, wait=wait)) == [STARTED, event("progress", done=1), DONE]


def test_a_line_cut_in_the_middle_is_told_once_it_is_whole(folder: RunFolder) -> None:
    whole = line(STARTED) + line(event("note", code="é", text="行")) + line(DONE)
    with RunLock.hold(folder):
        steps = [lambda byte=byte: add(folder, bytes([byte])) for byte in whole]
        assert list(follow(folder, wait=script(*steps))) == [
            STARTED,
            event("note", code="é", text="行"),
            DONE,
        ]


def test_a_partial_line_that_is_taken_back_is_not_told(folder: RunFolder) -> None:
    with RunLock.hold(folder):
        wait = script(
            lambda: add(folder, line(STARTED) + b'{"ts":1,"type":"note","text":"lo'),
            lambda: folder.events_jsonl.write_bytes(line(STARTED)),
            lambda: add(folder, line(DONE)),
        )
        assert list(follow(folder, wait=wait)) == [STARTED, DONE]


def test_an_interrupted_run_ends_with_a_made_up_event(folder: RunFolder) -> None:
    add(folder, line(STARTED) + b'{"ts":1,')
    assert kinds(follow(folder, wait=script())) == [("started", None), ("finished", "interrupted")]


def test_what_a_dying_runner_wrote_last_is_told_before_the_end(folder: RunFolder) -> None:
    lock = RunLock(folder)
    lock.acquire()

    def die() -> None:
        add(folder, line(STARTED))
        lock.release()

    wait = script(die)
    assert kinds(follow(folder, wait=wait)) == [("started", None), ("finished", "interrupted")]


def test_a_runner_that_died_before_its_first_event_is_interrupted(folder: RunFolder) -> None:
    with RunLock.hold(folder):
        pass
    assert kinds(follow(folder, wait=script())) == [("finished", "interrupted")]


def test_a_runner_that_has_not_begun_is_waited_for(folder: RunFolder) -> None:
    lock = RunLock(folder)
    wait = script(
        lambda: None,
        folder.run_lock.touch,
        lock.acquire,
        lambda: add(folder, line(STARTED)),
        lambda: add(folder, line(DONE)),
    )
    assert list(follow(folder, wait=wait)) == [STARTED, DONE]
    lock.release()


def test_a_runner_that_never_begins_is_given_up(folder: RunFolder) -> None:
    waited: list[float] = []
    assert kinds(follow(folder, poll_s=0.5, wait=waited.append)) == [("finished", "interrupted")]
    assert sum(waited) == pytest.approx(START_S)


def test_a_resumed_run_is_told_to_its_last_end(folder: RunFolder) -> None:
    cancelled = event("finished", state="cancelled")
    add(folder, line(STARTED) + line(cancelled) + line(STARTED) + line(DONE))
    assert list(follow(folder, wait=script())) == [STARTED, cancelled, STARTED, DONE]


def test_garbage_is_passed_over(folder: RunFolder) -> None:
    add(folder, b"\n?\n[1]\n" + line(STARTED) + b'{"ts":1,"type":"invented"}\n' + line(DONE))
    assert list(follow(folder, wait=script())) == [STARTED, DONE]


def test_a_folder_that_is_deleted_ends_the_following(folder: RunFolder) -> None:
    lock = RunLock(folder)
    lock.acquire()
    add(folder, line(STARTED))

    def delete() -> None:
        folder.events_jsonl.unlink()
        folder.run_lock.unlink()
        folder.path.rmdir()

    assert kinds(follow(folder, wait=script(delete))) == [("started", None), ("finished", "interrupted")]
    lock.release()


def test_a_file_that_cannot_be_read_is_told(folder: RunFolder) -> None:
    folder.events_jsonl.mkdir()
    with pytest.raises(KvtopError) as caught:
        list(follow(folder, wait=script()))
    assert caught.value.failure.code == "unreadable_run"


def test_another_process_is_followed_while_it_writes(folder: RunFolder) -> None:
    with child("steps", folder) as writer:
        assert heard(writer) == "started"
        events = follow(folder, poll_s=0.002)
        told = [next(events)]
        for _ in range(5):
            tell(writer)
            told.append(next(events))
        assert end(writer) == 0
        told.extend(events)
    assert [entry.type for entry in told] == ["started", *["request"] * 5, "finished"]
    assert [entry.data["id"] for entry in told[1:-1]] == [f"r{number}" for number in range(5)]
    assert told[-1].data == {"state": "done"}


def test_a_killed_process_is_followed_to_its_end(folder: RunFolder) -> None:
    with child("stream", folder) as writer:
        told: list[Event] = []
        enough = threading.Event()

        def collect() -> None:
            for entry in follow(folder, poll_s=0.002):
                told.append(entry)
                if len(told) == 20:
                    enough.set()

        follower = threading.Thread(target=collect)
        follower.start()
        drain = threading.Thread(target=lambda: writer.stdout and writer.stdout.read())
        drain.start()
        assert enough.wait(30)
        writer.kill()
        follower.join(30)
        drain.join(30)
    assert told[-1].data == {"state": "interrupted"}
    assert [entry.data["id"] for entry in told[1:-1]] == [f"r{number}" for number in range(len(told) - 2)]
