"""Finding the engine behind a port, on real processes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kvtop.telemetry.processes import find_listener

LISTEN = """
import json, os, socket, sys
def listen(host="127.0.0.1"):
    server = socket.create_server((host, 0))
    print(json.dumps({"pid": os.getpid(), "port": server.getsockname()[1]}), flush=True)
    sys.stdin.read()
"""
RENAMED = "open('/proc/self/comm', 'w').write({name!r})\n"


@contextmanager
def engine(code: str) -> Iterator[tuple[int, int, int]]:
    """Run `code`, which prints the pid and port of its listener; yield its own pid and those."""
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        yield process.pid, told["pid"], told["port"]
    finally:
        process.communicate()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_listener_is_the_engine(host: str) -> None:
    with engine(f"{LISTEN}\nlisten({host!r})") as (pid, _, port):
        assert find_listener(port) == pid


def test_our_own_listener_is_us() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert find_listener(server.getsockname()[1]) == os.getpid()


def test_port_that_nobody_listens_on() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert find_listener(bound.getsockname()[1]) is None


def test_forked_server_stands_for_its_parent() -> None:
    code = f"{LISTEN}\npid = os.fork()\nlisten() if pid == 0 else os.waitpid(pid, 0)"
    with engine(code) as (pid, listener, port):
        assert listener != pid
        assert find_listener(port) == pid


def test_spawned_worker_stands_for_its_parent() -> None:
    code = (
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {LISTEN!r} + 'listen()', "
        "'--multiprocessing-fork'])"
    )
    with engine(code) as (pid, listener, port):
        assert listener != pid
        assert find_listener(port) == pid


def test_server_beside_its_workers_stands_for_the_launcher() -> None:
    code = (
        RENAMED.format(name="text-generation-launcher"[:15])
        + f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {LISTEN!r} + 'listen()'])"
    )
    with engine(code) as (pid, listener, port):
        assert listener != pid
        assert find_listener(port) == pid


def test_engine_started_by_another_program_is_not_that_program() -> None:
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {LISTEN!r} + 'listen()'])"
    with engine(code) as (pid, listener, port):
        assert listener != pid
        assert find_listener(port) == listener


def test_forwarder_is_not_the_engine() -> None:
    with engine(f"{RENAMED.format(name='docker-proxy')}{LISTEN}\nlisten()") as (_, _, port):
        assert find_listener(port) is None
