"""`run.lock`: held by the live runner, so that nobody has to guess whether a run is going on."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from kvtop.model.failure import Failure, KvtopError
from kvtop.runs.disk import open_private, open_regular, write_error
from kvtop.runs.layout import RunFolder

_TRIES = 500
_PAUSE_S = 0.001
_PID_BYTES = 32


class RunLock:
    """An exclusive flock on `run.lock`, with the holder's pid inside.

    Programs started by the holder do not inherit it; forked children share it until `release`.
    """

    __slots__ = ("_fd", "_folder")

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._fd: int | None = None

    def acquire(self) -> None:
        """Take the lock. Raises KvtopError: `run_is_live`, `disk_full`, `write_failed`."""
        fd = open_private(self._folder.run_lock, os.O_RDWR)
        try:
            if not _take(fd):
                raise _live(self._folder)
            _write_pid(fd)
        except OSError as error:
            os.close(fd)
            raise write_error(self._folder.run_lock, error) from error
        except KvtopError:
            os.close(fd)
            raise
        self._fd = fd

    def release(self) -> None:
        """Give the lock back; the file stays. Without effect when it is not held."""
        if self._fd is None:
            return
        fcntl.flock(self._fd, fcntl.LOCK_UN)
        os.close(self._fd)
        self._fd = None

    @classmethod
    @contextmanager
    def hold(cls, folder: RunFolder) -> Iterator[Self]:
        """Hold the lock inside the block. Raises KvtopError like `acquire`."""
        lock = cls(folder)
        lock.acquire()
        try:
            yield lock
        finally:
            lock.release()


def is_held(folder: RunFolder) -> bool:
    """Whether a runner holds the lock now. Does not disturb it."""
    try:
        fd = os.open(folder.run_lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return not _try(fd, fcntl.LOCK_SH)
    except OSError:
        return False
    finally:
        os.close(fd)


def was_held(folder: RunFolder) -> bool:
    """Whether a runner ever took the lock."""
    return bool(_read_pid(folder))


def holder_pid(folder: RunFolder) -> int | None:
    """Return the pid of the live runner, None when nobody holds the lock."""
    for _ in range(_TRIES):
        if not is_held(folder):
            return None
        pid = _read_pid(folder)
        if pid:
            return pid
        time.sleep(_PAUSE_S)
    return None


def _take(fd: int) -> bool:
    # Someone who only looks (`is_held`) holds a shared lock for microseconds; a runner that starts
    # in that moment must not take it for another runner.
    for _ in range(_TRIES):
        if _try(fd, fcntl.LOCK_EX):
            return True
        if not _try(fd, fcntl.LOCK_SH):
            return False
        fcntl.flock(fd, fcntl.LOCK_UN)
        time.sleep(_PAUSE_S)
    return False


def _try(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_pid(fd: int) -> None:
    # Written before the rest is cut off: the file is never empty while a stale pid is replaced.
    pid = f"{os.getpid()}\n".encode()
    os.pwrite(fd, pid, 0)
    os.ftruncate(fd, len(pid))


def _read_pid(folder: RunFolder) -> int | None:
    try:
        with open_regular(folder.run_lock) as file:
            first, newline, _ = file.read(_PID_BYTES).partition(b"\n")
    except OSError:
        return None
    return int(first) or None if newline and first.isdigit() else None


def _live(folder: RunFolder) -> KvtopError:
    pid = holder_pid(folder)
    who = f" in process {pid}" if pid else ""
    hint = f"Watch it with `kvtop runs follow {folder.id}`, stop it with `kvtop runs cancel {folder.id}`."
    return KvtopError(Failure.of("run_is_live", f"Run {folder.id} is going on{who}.", hint))
