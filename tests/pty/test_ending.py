"""However it ends, the terminal is left as it was."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.pty_app import cpu_s, tree
from tests.pty.byte_stream import left_on, said_after_leaving
from tests.pty.conftest import FakeGpus
from tests.pty.kvtop_on_pty import DEADLINE_S, KvtopOnPty

DEAD_TERMINAL_S = 10.0
"""Generous: 3 s are what the benchmark asks."""


def end_of(app: KvtopOnPty) -> None:
    """Wait for the end of a program whose terminal is gone; it must not spin meanwhile."""
    used_s, began_s = cpu_s(app.pid), time.monotonic()
    while app.status is None:
        assert time.monotonic() - began_s < DEAD_TERMINAL_S, "it lives on without a terminal"
        assert cpu_s(app.pid) - used_s < 3.0, "it spins"
        app.read(0.01)


def ignore_hang_ups() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


@pytest.mark.parametrize("keys", ["q", "\x03", "\x11"], ids=["q", "ctrl+c", "ctrl+q"])
def test_quit_key(start: Callable[..., KvtopOnPty], keys: str) -> None:
    app = start()
    app.started()
    app.press(keys)
    app.end()
    assert app.status == 0
    assert left_on(bytes(app.written)) == []
    assert app.modes_now() == app.modes
    assert said_after_leaving(bytes(app.written)).strip() == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
@pytest.mark.parametrize("keys", ["", "?", "s"], ids=["cockpit", "help", "dialog"])
def test_signal(start: Callable[..., KvtopOnPty], number: signal.Signals, keys: str) -> None:
    app = start("--demo")
    app.started()
    if keys:
        app.press(keys)
        app.until("Esc")
    children = tree(app.pid)
    app.send(number)
    app.end()
    assert app.status == 128 + number
    assert left_on(bytes(app.written)) == []
    assert app.modes_now() == app.modes
    give_up_s = time.monotonic() + DEADLINE_S
    while living := [pid for pid in children if runs(pid)]:
        assert time.monotonic() < give_up_s, f"its simulator lives on: {living}"
        time.sleep(0.01)


def test_signal_before_the_first_screen(start: Callable[..., KvtopOnPty]) -> None:
    app = start()
    app.until(lambda: b"\x1b[?1049h" in app.written)
    app.send(signal.SIGTERM)
    app.wait(DEADLINE_S)
    assert app.status in (128 + signal.SIGTERM, -signal.SIGTERM)


@pytest.mark.parametrize("prepare", [None, ignore_hang_ups], ids=["hang-up", "hang-up ignored"])
@pytest.mark.parametrize("keys", ["", "s"], ids=["cockpit", "dialog"])
def test_terminal_that_goes_away(
    start: Callable[..., KvtopOnPty], prepare: Callable[[], object] | None, keys: str
) -> None:
    app = start(prepare=prepare)
    app.started()
    if keys:
        app.press(keys)
        app.until("Length scan")
    app.hang_up()
    end_of(app)
    assert app.status in (128 + signal.SIGHUP, -signal.SIGHUP)


def test_terminal_that_goes_away_while_nobody_reads(start: Callable[..., KvtopOnPty]) -> None:
    app = start("--demo", prepare=ignore_hang_ups)
    app.started()
    for _ in range(20):
        app.press("t\x1b")
    app.hang_up()
    end_of(app)


def test_driver_that_hangs(start: Callable[..., KvtopOnPty], fake_gpus: Callable[[str], FakeGpus]) -> None:
    driver = fake_gpus("gpus 2\n")
    app = start(**driver.environ)
    app.until("GiB")
    driver.now("hang nvmlDeviceGetMemoryInfo_v2 0\n")
    app.until("GPU readings")
    app.press("?")
    app.until("Esc closes")
    app.leave("Esc closes")
    app.quit()
    assert left_on(bytes(app.written)) == []


def test_driver_that_hangs_from_the_start(
    start: Callable[..., KvtopOnPty], fake_gpus: Callable[[str], FakeGpus]
) -> None:
    driver = fake_gpus("gpus 2\n")
    driver.now("hang nvmlInitWithFlags -1\n")
    app = start(**driver.environ)
    app.started()
    app.quit()
    assert left_on(bytes(app.written)) == []


def test_ctrl_z_and_fg(start: Callable[..., KvtopOnPty]) -> None:
    app = start()
    app.started()
    app.press("\x1a")
    app.until(lambda: state_of(app.pid) == "T")
    app.read(0.0)
    assert left_on(bytes(app.written)) == []
    assert app.modes_now() == app.modes
    app.screen.reset()
    app.send(signal.SIGCONT)
    app.started()
    app.until("No NVIDIA driver")
    app.press("?")
    app.until("Esc closes")
    app.leave("Esc closes")
    app.quit()
    assert left_on(bytes(app.written)) == []


def state_of(pid: int) -> str:
    """Return the state of a process as /proc names it; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def runs(pid: int) -> bool:
    return state_of(pid) not in ("", "Z")
