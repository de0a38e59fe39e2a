from __future__ import annotations

import contextlib
import os
import signal
import stat
import threading
from typing import TYPE_CHECKING

import pytest

from kvtop.model.failure import KvtopError
from kvtop.runs.lock import RunLock, holder_pid, is_held, was_held
from tests.runs.processes import child, end, heard

if TYPE_CHECKING:
    from kvtop.runs.layout import RunFolder


def test_a_lock_is_held_inside_the_block_only(folder: RunFolder) -> None:
    assert not is_held(folder)
    with RunLock.hold(folder):
        assert is_held(folder)
        assert holder_pid(folder) == os.getpid()
    assert not is_held(folder)
    assert holder_pid(folder) is None


def test_it_is_given_back_when_the_block_fails(folder: RunFolder) -> None:
    with contextlib.suppress(ZeroDivisionError), RunLock.hold(folder):
        _ = 1 / 0
    assert not is_held(folder)


def test_nobody_held_a_lock_that_was_never_written(folder: RunFolder) -> None:
    assert not was_held(folder)
    folder.run_lock.touch()
    assert not was_held(folder)
    with RunLock.hold(folder):
        assert was_held(folder)
    assert was_held(folder)


def test_the_file_is_private(folder: RunFolder) -> None:
    with RunLock.hold(folder):
        assert stat.S_IMODE(folder.run_lock.stat().st_mode) == 0o600


def test_a_second_writer_is_locked_out_and_told_the_pid(folder: RunFolder) -> None:
    with child("hold", folder) as first, child("hold", folder) as second:
        said = {heard(first)}
        said.add(heard(second))
        winner = holder_pid(folder)
        assert winner in (first.pid, second.pid)
        assert "held" in said
        (refusal,) = said - {"held"}
        assert refusal.startswith("run_is_live ")
        assert f"process {winner}" in refusal


def test_the_same_process_is_locked_out_too(folder: RunFolder) -> None:
    with RunLock.hold(folder), pytest.raises(KvtopError) as caught, RunLock.hold(folder):
        pass
    assert caught.value.failure.code == "run_is_live"
    assert "runs cancel" in caught.value.failure.hint


def test_looking_does_not_disturb_the_holder(folder: RunFolder) -> None:
    with child("hold", folder) as holder:
        assert heard(holder) == "held"
        assert {holder_pid(folder) for _ in range(50)} == {holder.pid}
        assert end(holder) == 0
    assert holder_pid(folder) is None


def test_looking_does_not_keep_a_runner_from_starting(folder: RunFolder) -> None:
    stop = threading.Event()
    watchers = [
        threading.Thread(target=lambda: [is_held(folder) for _ in iter(stop.is_set, True)]) for _ in range(3)
    ]
    for watcher in watchers:
        watcher.start()
    try:
        for _ in range(200):
            with RunLock.hold(folder):
                pass
    finally:
        stop.set()
        for watcher in watchers:
            watcher.join()


def test_a_killed_holder_holds_nothing(folder: RunFolder) -> None:
    with child("hold", folder) as holder:
        assert heard(holder) == "held"
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert was_held(folder)
    assert holder_pid(folder) is None
    with RunLock.hold(folder):
        assert holder_pid(folder) == os.getpid()


def test_programs_of_the_holder_do_not_keep_the_lock(folder: RunFolder) -> None:
    with child("hold-with-child", folder) as holder:
        program = int(heard(holder))
        try:
            holder.kill()
            holder.wait()
            os.kill(program, 0)
            assert not is_held(folder)
        finally:
            os.kill(program, signal.SIGKILL)


def test_a_shorter_pid_replaces_a_longer_one(folder: RunFolder) -> None:
    folder.run_lock.write_text("99999999999\nrest\n")
    with RunLock.hold(folder):
        assert folder.run_lock.read_text() == f"{os.getpid()}\n"


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"x\n", b"-1\n", b"0\n", b"12", b"\xb2\n", b"9" * 1000, b"\x00" * 64]
)
def test_a_damaged_pid_is_no_pid(folder: RunFolder, content: bytes) -> None:
    folder.run_lock.write_bytes(content)
    assert not was_held(folder)
    assert holder_pid(folder) is None


def test_a_folder_that_is_not_there_is_not_held_and_cannot_be(folder: RunFolder) -> None:
    folder.path.rmdir()
    assert holder_pid(folder) is None
    with pytest.raises(KvtopError) as caught, RunLock.hold(folder):
        pass
    assert caught.value.failure.code == "write_failed"


def test_releasing_twice_is_harmless(folder: RunFolder) -> None:
    lock = RunLock(folder)
    lock.release()
    lock.acquire()
    lock.release()
    lock.release()
    assert not is_held(folder)
