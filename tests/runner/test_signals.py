"""Signals and lost terminals, on real processes."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kvtop.runner.stopping import Stopping
from kvtop.runs.layout import RunFolder
from kvtop.runs.liveness import effective_state
from kvtop.runs.manifest import read_manifest
from kvtop.runs.reader import read_events, read_findings, read_requests
from tests.experiments.chat_server import ChatServer, Fault
from tests.runner.program import PATIENCE_S, ROOT, ended, latest, program, scan_arguments


@contextmanager
def held(server: ChatServer, chat: int) -> Iterator[threading.Event]:
    """Hold the answer of one chat until the event is set, at the latest at the end of the block."""
    release = threading.Event()
    server.faults[chat] = Fault(hold=release)
    try:
        yield release
    finally:
        release.set()


def check_kept(folder: RunFolder, state: str, requests: int) -> None:
    assert effective_state(folder) == state
    assert read_manifest(folder).state == state
    records = read_requests(folder).records
    assert len(records) == requests
    assert read_events(folder).events[-1].type == "finished"
    findings = read_findings(folder)
    assert findings is not None
    assert findings["state"] == state


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_and_keeps_what_was_measured(
    server: ChatServer, number: signal.Signals
) -> None:
    with held(server, 5), program(*scan_arguments(server.url, "--json")) as process:
        server.wait_for(5)
        process.send_signal(number)
        code, out, err = ended(process)
    assert code == 130
    check_kept(latest(), "cancelled", requests=4)
    document = json.loads(out)
    assert document["state"] == "cancelled"
    assert [(point["n"], point["failed"]) for point in document["points"]] == [(2, 0), (0, 0)]
    assert "kvtop runs resume" in err


def test_a_dropped_terminal_stops_nothing(server: ChatServer) -> None:
    master, slave = pty.openpty()

    def take_terminal() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    terminal = {"stdin": slave, "stdout": slave, "stderr": slave, "start_new_session": True}
    with (
        held(server, 4) as release,
        program(*scan_arguments(server.url), preexec_fn=take_terminal, **terminal) as process,
    ):
        os.close(slave)
        server.wait_for(4)
        os.close(master)
        release.set()
        assert process.wait(PATIENCE_S) == 0
    check_kept(latest(), "done", requests=6)


def test_closed_pipes_stop_nothing(server: ChatServer) -> None:
    with held(server, 4) as release, program(*scan_arguments(server.url, "--json")) as process:
        server.wait_for(4)
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
        process.stdout = process.stderr = None
        release.set()
        assert process.wait(PATIENCE_S) == 0
    check_kept(latest(), "done", requests=6)


def test_descriptors_that_were_never_open_stop_nothing(server: ChatServer) -> None:
    def close_all() -> None:
        os.closerange(0, 3)

    with program(*scan_arguments(server.url, "--json"), preexec_fn=close_all) as process:
        assert process.wait(PATIENCE_S) == 0
    check_kept(latest(), "done", requests=6)


STUBBORN = """
import asyncio, sys
from kvtop.runner.stopping import Stopping

async def work():
    with Stopping() as stopping:
        stopping.watch()
        print("watching", flush=True)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            print("cancelled", flush=True)
        sys.stdin.read()

asyncio.run(work())
"""


def test_a_second_signal_kills() -> None:
    command = [sys.executable, "-c", STUBBORN]
    with subprocess.Popen(
        command, text=True, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "watching\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "cancelled\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == -signal.SIGINT


async def _cancelled_by(number: signal.Signals) -> bool:
    task = asyncio.current_task()
    assert task is not None
    with Stopping() as stopping:
        stopping.watch()
        os.kill(os.getpid(), number)
        try:
            await asyncio.sleep(0.2 if number is signal.SIGHUP else 30)
        except asyncio.CancelledError:
            task.uncancel()
            return True
    return False


@pytest.mark.parametrize(
    ("number", "stops"), [(signal.SIGINT, True), (signal.SIGTERM, True), (signal.SIGHUP, False)]
)
def test_which_signals_cancel_the_task(number: signal.Signals, stops: bool) -> None:
    assert asyncio.run(_cancelled_by(number)) is stops


def test_a_signal_before_the_task_is_there_cancels_it_later() -> None:
    async def begin(stopping: Stopping) -> str:
        stopping.watch()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            return "cancelled"
        return "slept"

    with Stopping() as stopping:
        os.kill(os.getpid(), signal.SIGTERM)
        assert asyncio.run(begin(stopping)) == "cancelled"


def test_handlers_are_put_back_and_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    interrupt = signal.getsignal(signal.SIGINT)
    try:
        with Stopping():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGINT) is not interrupt
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is interrupt
        assert signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
