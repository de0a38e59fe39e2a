"""kvtop on a pseudo terminal, as a person starts it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

import kvtop

if TYPE_CHECKING:
    from collections.abc import Callable

DEADLINE_S = 20.0
FIRST_SCREEN = b"quit"
ALTERNATE_SCREEN_LEFT = b"\x1b[?1049l"
MOUSE_LEFT_ALONE = b"\x1b[?1003l"


class Terminal:
    """A terminal with one program on it. Whoever waits reads: what nobody reads holds the program up."""

    def __init__(self, *arguments: str, prepare: Callable[[], None] | None = None, **environ: str) -> None:
        self.written = b""
        self.status: int | None = None
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            _become(arguments, prepare, environ)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.hang_up()

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def hang_up(self) -> None:
        """Close the terminal, as a lost link does."""
        if self.master >= 0:
            os.close(self.master)
            self.master = -1

    def until(self, words: bytes) -> bytes:
        """Read until the program has written `words`."""
        deadline = time.monotonic() + DEADLINE_S
        while words not in self.written:
            assert time.monotonic() < deadline, f"{words!r} did not come: {self.written[-2000:]!r}"
            self.read(0.2)
        return self.written

    def read(self, timeout_s: float, most: int = 65536) -> int:
        if self.master < 0 or not select.select([self.master], [], [], timeout_s)[0]:
            return 0
        try:
            data = os.read(self.master, most)
        except OSError:
            return 0
        self.written += data
        return len(data)

    def wait(self) -> float:
        """Wait for the end of the program, reading; return how long that took in seconds."""
        began = time.monotonic()
        while self.status is None:
            assert time.monotonic() - began < DEADLINE_S, f"it does not end: {self.written[-2000:]!r}"
            self.read(0.01)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            elif self.master < 0:
                select.select([], [], [], 0.01)
        took = time.monotonic() - began
        while self.read(0.0):
            pass
        return took

    def cpu_s(self) -> float:
        """Processor time of the program until now."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _become(arguments: tuple[str, ...], prepare: Callable[[], None] | None, environ: dict[str, str]) -> None:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    if prepare is not None:
        prepare()
    root = str(Path(kvtop.__file__).parents[1])
    everything = {**os.environ, "PYTHONPATH": root, "TERM": "xterm-256color", "LANG": "C.UTF-8", **environ}
    os.execve(sys.executable, [sys.executable, "-P", *(arguments or ("-m", "kvtop"))], everything)
