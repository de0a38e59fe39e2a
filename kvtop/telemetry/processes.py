"""Host memory of the engine's processes, and finding the engine by its port."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from kvtop.model.failure import Failure
from kvtop.model.text import clean_text
from kvtop.telemetry.listeners import engine_root, listening_pids

REFRESH_S = 2.0
"""Time between two looks for new children, in seconds."""

_INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""The kernel's fixed name of the pid namespace that the driver's pids belong to (PROC_PID_INIT_INO)."""

_KERNEL_LISTS_CHILDREN = Path(f"/proc/self/task/{threading.get_native_id()}/children").exists()
"""Asking the kernel for the children of one process beats psutil's walk over all processes of the host,
which holds the interpreter for tens of milliseconds on a busy one."""


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """One process of the tree. `rss_bytes` is None where this user may not read it."""

    pid: int
    name: str | None
    rss_bytes: int | None


class ProcessTree:
    """A process and its descendants, new ones found every `REFRESH_S`.

    Descendants that outlive the root stay in the tree; `failure` says what is wrong with the root.
    """

    def __init__(self, pid: int, *, refresh_s: float = REFRESH_S) -> None:
        self.pid = pid
        self.failure: Failure | None = None
        self._refresh_s = refresh_s
        self._next_refresh = float("-inf")
        self._members: dict[int, psutil.Process] = {}
        self._names: dict[int, str] = {}
        self._root = _process(pid)
        if self._root is None:
            self.failure = _gone(pid)
        else:
            self._members[pid] = self._root

    def __contains__(self, pid: object) -> bool:
        return pid in self._members

    def read(self, now: float) -> tuple[ProcessMemory, ...]:
        """Return the resident memory of each living process of the tree; `now` in monotonic seconds."""
        if now >= self._next_refresh:
            self._next_refresh = now + self._refresh_s
            self._refresh()
        memories = [self._memory(process) for process in list(self._members.values())]
        return tuple(memory for memory in memories if memory is not None)

    def _refresh(self) -> None:
        for process in list(self._members.values()):
            if not process.is_running():
                self._drop(process)
        for pid in _descendants(list(self._members)):
            child = _process(pid) if pid not in self._members else None
            if child is not None:
                self._members[pid] = child

    def _memory(self, process: psutil.Process) -> ProcessMemory | None:
        try:
            rss_bytes = process.memory_info().rss
        except psutil.AccessDenied:
            self.failure = self.failure or _denied(process.pid)
            return ProcessMemory(process.pid, self._name(process), None)
        except psutil.NoSuchProcess:
            rss_bytes = 0
        if rss_bytes == 0:  # a zombie still has its entry in /proc and no memory
            self._drop(process)
            return None
        return ProcessMemory(process.pid, self._name(process), rss_bytes)

    def _drop(self, process: psutil.Process) -> None:
        self._members.pop(process.pid, None)
        self._names.pop(process.pid, None)
        if process is self._root:
            self.failure = _gone(self.pid)

    def _name(self, process: psutil.Process) -> str | None:
        if process.pid not in self._names:
            with suppress(psutil.Error):
                self._names[process.pid] = clean_text(process.name())
        return self._names.get(process.pid)


def find_listener(port: int) -> int | None:
    """Return the pid of the engine that listens on loopback `port`, None when unknown or not permitted.

    See `engine_root` for which process of an engine's tree that is. A mere forwarder (an ssh tunnel,
    a container's port proxy, a reverse proxy) is not the engine: None.
    """
    return engine_root(listening_pids(port))


def process_name(pid: int) -> str | None:
    """Return the name of a process of this host, None when it cannot be seen."""
    with suppress(psutil.Error):
        return clean_text(psutil.Process(pid).name()) or None
    return None


def sees_host_pids() -> bool:
    """Whether this process shares the host's pid namespace, whose pids the driver reports.

    In a container without it a pid of the driver may belong to another process here.
    """
    try:
        return str(Path("/proc/self/ns/pid").readlink()) == _INITIAL_PID_NAMESPACE
    except OSError:
        return True


def available_host_memory() -> int | None:
    """Return how much memory this host could still give to programs, in bytes (Linux: MemAvailable)."""
    with suppress(OSError, psutil.Error):
        return int(psutil.virtual_memory().available)
    return None


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except (psutil.NoSuchProcess, ValueError, OverflowError):
        return None


def _descendants(pids: Iterable[int]) -> Iterator[int]:
    """Yield all children of `pids`, without a walk over every process of the host where that can be had."""
    waiting, seen = list(pids), set(pids)
    while waiting:
        for child in _children(waiting.pop()):
            if child not in seen:
                seen.add(child)
                waiting.append(child)
                yield child


def _children(pid: int) -> list[int]:
    if not _KERNEL_LISTS_CHILDREN:
        return _children_by_parent(pid)
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - names alone, at a tenth of the cost
    except OSError:
        return []
    return [child for thread in threads for child in _children_of_thread(pid, thread)]


def _children_of_thread(pid: int, thread: str) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{thread}/children").read_text().split()]
    except OSError:
        return []


def _children_by_parent(pid: int) -> list[int]:
    with suppress(psutil.Error):
        return [child.pid for child in psutil.Process(pid).children()]
    return []


def _gone(pid: int) -> Failure:
    return Failure.of(
        "engine_gone",
        f"There is no process {pid}: the engine has ended, or the pid is wrong.",
        "Give the pid of the running engine with --pid, or leave it out.",
    )


def _denied(pid: int) -> Failure:
    return Failure.of(
        "engine_memory_denied",
        f"The memory of process {pid} may not be read by this user.",
        "Run kvtop as the user the engine runs as.",
    )
