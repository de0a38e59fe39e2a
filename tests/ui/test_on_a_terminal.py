from __future__ import annotations

import os
import signal
import termios
import time

import pytest

from tests.ui.terminal import ALTERNATE_SCREEN_LEFT, FIRST_SCREEN, MOUSE_LEFT_ALONE, Terminal

HUNG = """
import os, time
from kvtop.settings.config import load_settings
from kvtop.telemetry.gpu.none import NoGpu
from kvtop.ui.launch import Launch, run_app

class Hanging(NoGpu):
    def open(self):
        time.sleep(3600)

raise SystemExit(run_app(Launch(load_settings(os.environ), lambda: Hanging(None))).exit_code)
"""


def test_q_leaves_a_clean_terminal() -> None:
    with Terminal() as terminal:
        before = termios.tcgetattr(terminal.master)
        terminal.until(FIRST_SCREEN)
        terminal.press("q")
        terminal.wait()
        assert terminal.status == 0
        assert ALTERNATE_SCREEN_LEFT in terminal.written
        assert MOUSE_LEFT_ALONE in terminal.written
        assert termios.tcgetattr(terminal.master)[3] == before[3]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order(number: signal.Signals) -> None:
    with Terminal() as terminal:
        terminal.until(FIRST_SCREEN)
        terminal.send(number)
        terminal.wait()
        assert terminal.status == 128 + number
        assert ALTERNATE_SCREEN_LEFT in terminal.written
        assert b"Traceback" not in terminal.written


def test_quitting_does_not_wait_for_a_driver_that_hangs() -> None:
    with Terminal("-c", HUNG) as terminal:
        terminal.until(FIRST_SCREEN)
        terminal.press("q")
        terminal.wait()
        assert terminal.status == 0
        assert ALTERNATE_SCREEN_LEFT in terminal.written


def test_a_terminal_that_goes_away_ends_it_though_hang_ups_are_ignored() -> None:
    with Terminal(prepare=lambda: void(signal.signal(signal.SIGHUP, signal.SIG_IGN))) as terminal:
        terminal.until(FIRST_SCREEN)
        used_s = terminal.cpu_s()
        terminal.hang_up()
        began = time.monotonic()
        while (ended := os.waitpid(terminal.pid, os.WNOHANG)) == (0, 0):
            assert time.monotonic() - began < 10, "it lives on without a terminal"
            assert terminal.cpu_s() - used_s < 3, "it spins"
            time.sleep(0.02)
        terminal.status = os.waitstatus_to_exitcode(ended[1])
        assert terminal.status == 129


def test_ctrl_z_gives_the_terminal_back_and_fg_draws_everything_again() -> None:
    with Terminal() as terminal:
        terminal.until(FIRST_SCREEN)
        terminal.press("\x1a")
        while not os.waitpid(terminal.pid, os.WNOHANG | os.WUNTRACED)[0]:
            terminal.read(0.01)
        while terminal.read(0.05):
            pass
        assert ALTERNATE_SCREEN_LEFT in terminal.written
        terminal.written = b""
        terminal.send(signal.SIGCONT)
        terminal.until(FIRST_SCREEN)
        assert b"\x1b[?1049h" in terminal.written
        terminal.press("q")
        terminal.wait()
        assert terminal.status == 0


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_terminal_without_cursor_is_refused(term: str) -> None:
    with Terminal(TERM=term) as terminal:
        terminal.wait()
        assert terminal.status == 2
        assert b"kvtop status" in terminal.written
        assert b"\x1b" not in terminal.written


def test_redirected_stderr_is_refused() -> None:
    with Terminal(prepare=lambda: void(os.dup2(os.open(os.devnull, os.O_WRONLY), 2))) as terminal:
        terminal.wait()
        assert terminal.status == 2
        assert b"\x1b" not in terminal.written


def test_a_reader_of_16_kib_a_second_sees_its_keys_soon() -> None:
    with Terminal("-m", "kvtop") as terminal:
        terminal.until(FIRST_SCREEN)
        terminal.written = b""
        began = time.monotonic()
        terminal.press("?")
        while b"Everywhere" not in terminal.written and b"Esc closes" not in terminal.written:
            assert time.monotonic() - began < 10
            terminal.read(0.1, most=512)
            time.sleep(512 / 16384)
        terminal.press("q")
        terminal.press("q")
        terminal.wait()
        assert terminal.status == 0


def void(_: object) -> None:
    """Take the result of a call whose effect is wanted."""
