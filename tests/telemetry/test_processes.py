"""Memory of real process trees."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from kvtop.telemetry.processes import ProcessTree, process_name, sees_host_pids

MIB = 2**20

ALLOCATES = """
import sys
held = []
for line in sys.stdin:
    held.append(bytearray(b"x" * int(line)))
    print("done", flush=True)
"""
PARENT = f"""
import subprocess, sys
children = []
for line in sys.stdin:
    if line.strip() == "fork":
        children.append(subprocess.Popen([sys.executable, "-c", {ALLOCATES!r}], stdin=subprocess.PIPE))
        print(children[-1].pid, flush=True)
    else:
        for child in children:
            child.communicate()
        children.clear()
        print("reaped", flush=True)
"""


@contextmanager
def program(code: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def tell(process: subprocess.Popen[str], line: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def total_rss(tree: ProcessTree, now: float) -> int:
    return sum(memory.rss_bytes or 0 for memory in tree.read(now))


def test_allocation_shows_in_the_next_reading() -> None:
    with program(ALLOCATES) as engine:
        tell(engine, "1")
        tree = ProcessTree(engine.pid)
        before = total_rss(tree, 0.0)
        tell(engine, str(64 * MIB))
        assert total_rss(tree, 0.0) - before == pytest.approx(64 * MIB, abs=4 * MIB)
        assert tree.failure is None


def test_new_child_is_found_at_the_next_refresh() -> None:
    with program(PARENT) as engine:
        tree = ProcessTree(engine.pid, refresh_s=2.0)
        tree.read(0.0)
        child = int(tell(engine, "fork"))
        assert child not in {memory.pid for memory in tree.read(1.9)}
        assert {engine.pid, child} == {memory.pid for memory in tree.read(2.0)}
        assert child in tree
        assert {memory.name for memory in tree.read(2.1)} == {psutil.Process(engine.pid).name()}


def test_child_that_ends_is_dropped_without_complaint() -> None:
    with program(PARENT) as engine:
        child = int(tell(engine, "fork"))
        tree = ProcessTree(engine.pid)
        assert child in {memory.pid for memory in tree.read(0.0)}
        tell(engine, "reap")
        assert {memory.pid for memory in tree.read(0.1)} == {engine.pid}
        assert child not in tree
        assert tree.failure is None


def test_zombie_has_no_memory_and_counts_as_gone() -> None:
    with program("input()") as engine:
        tree = ProcessTree(engine.pid)
        assert tree.read(0.0)
        engine.kill()
        os.waitid(os.P_PID, engine.pid, os.WEXITED | os.WNOWAIT)
        assert psutil.Process(engine.pid).status() == psutil.STATUS_ZOMBIE
        assert tree.read(0.1) == ()
        assert tree.failure is not None
        assert tree.failure.code == "engine_gone"


def test_children_outlive_the_root() -> None:
    with program(
        "import os, sys\npid = os.fork()\nif pid: print(pid, flush=True)\nsys.stdin.read()"
    ) as engine:
        assert engine.stdout is not None
        child = int(engine.stdout.readline())
        tree = ProcessTree(engine.pid)
        assert {memory.pid for memory in tree.read(0.0)} == {engine.pid, child}
        engine.kill()
        engine.wait()
        for now in (0.1, 5.0):
            assert {memory.pid for memory in tree.read(now)} == {child}
        assert tree.failure is not None
        assert tree.failure.code == "engine_gone"


@pytest.mark.parametrize("pid", [2**22 + 1, -1, 2**70])
def test_pid_that_is_none(pid: int) -> None:
    tree = ProcessTree(pid)
    assert tree.read(0.0) == ()
    assert tree.failure is not None
    assert tree.failure.code == "engine_gone"


def test_memory_that_may_not_be_read_is_unknown_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(process: psutil.Process) -> None:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, "memory_info", denied)
    tree = ProcessTree(os.getpid())
    assert {memory.rss_bytes for memory in tree.read(0.0)} == {None}
    assert tree.failure is not None
    assert tree.failure.code == "engine_memory_denied"


def test_children_are_found_where_the_kernel_does_not_list_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvtop.telemetry.processes._KERNEL_LISTS_CHILDREN", False)
    with program(PARENT) as engine:
        child = int(tell(engine, "fork"))
        assert {memory.pid for memory in ProcessTree(engine.pid).read(0.0)} == {engine.pid, child}


def test_names_of_processes() -> None:
    assert process_name(os.getpid()) == psutil.Process().name()
    assert process_name(2**22 + 1) is None


def test_pid_namespace_is_known() -> None:
    assert isinstance(sees_host_pids(), bool)
