"""A program on a terminal of its own, for benchmarks and tests: what it writes, what it costs, keys into it.

Whoever waits reads: what nobody reads holds the program up, as a slow link does.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

Size = tuple[int, int]
"""Columns and rows."""

LINK_BYTES_PER_S = 16 * 1024
"""A link on which a screen full of text takes a good part of a second."""

_CHUNK = 65536
_SLICE = 256
"""Bytes that a slow link passes on at a time."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")

_ANSWERS: tuple[tuple[re.Pattern[bytes], bytes], ...] = (
    (re.compile(rb"\x1b\[\?2026\$p"), b"\x1b[?2026;2$y"),  # synchronised output: known, not set
    (re.compile(rb"\x1b\[\?2048\$p"), b"\x1b[?2048;0$y"),  # in-band resize: unknown, as in tmux
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),  # a VT220 with colours
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
)
_LONGEST_QUERY = 16


class PtyApp:
    """A program that runs on a pseudo terminal. This object owns the other end and ends the program."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        *,
        size: Size = (120, 40),
        folder: Path | None = None,
        bytes_per_s: float | None = None,
        prepare: Callable[[], object] | None = None,
    ) -> None:
        """Start `command`. `bytes_per_s` is a slow link; `prepare` runs in the child before it."""
        self.written = bytearray()
        self.bytes_per_s = bytes_per_s
        self._free_at = 0.0
        self.master, slave = os.openpty()
        resize(self.master, size)
        self.modes = termios.tcgetattr(slave)
        self.began_s = time.perf_counter()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=slave,
                stdout=slave,
                stderr=slave,
                env=dict(environ),
                cwd=folder,
                start_new_session=True,
                preexec_fn=lambda: _take_terminal(prepare),
            )
        finally:
            os.close(slave)
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def status(self) -> int | None:
        """Exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    def press(self, keys: str) -> None:
        """Type something."""
        os.write(self.master, keys.encode())

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program alone."""
        os.kill(self.pid, number)

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size; the program gets SIGWINCH."""
        resize(self.master, (columns, rows))

    def hang_up(self) -> None:
        """Close the terminal, as a lost link does."""
        if self.master >= 0:
            os.close(self.master)
            self.master = -1

    def kill(self) -> None:
        """End it and close the terminal, however it stands."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self.hang_up()

    def read(self, timeout_s: float) -> bytes:
        """Take what the program has written, waiting at most so long for something, and answer queries."""
        data = self._take(timeout_s)
        start = max(len(self.written) - _LONGEST_QUERY, 0)
        before = len(self.written) - start
        self.written += data
        for query, answer in _ANSWERS if data else ():
            for found in query.finditer(bytes(self.written[start:])):
                if found.end() > before:
                    self._answer(answer)
        return data

    def read_for(self, seconds: float) -> int:
        """Read so long and return the number of bytes."""
        count, end_s = 0, time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            count += len(self.read(left_s))
        return count

    def read_until(self, shown: Callable[[], bool], timeout_s: float) -> bool:
        """Read until `shown` holds; return whether it did in time. Ends early when the program has ended."""
        deadline_s = time.monotonic() + timeout_s
        while not shown():
            ended = self.status is not None
            if time.monotonic() > deadline_s or (not self.read(0.0 if ended else 0.05) and ended):
                return shown()
        return True

    def wait(self, timeout_s: float) -> float:
        """Wait for its end, reading, and return how long that took in seconds. Raises TimeoutError."""
        began_s = time.perf_counter()
        while self._process.poll() is None:
            if time.perf_counter() - began_s > timeout_s:
                raise TimeoutError(f"{self._process.args!r} does not end")
            if not self.read(0.005):
                time.sleep(0.001)
        took_s = time.perf_counter() - began_s
        while self.read(0.0):
            pass
        return took_s

    def modes_now(self) -> list[object]:
        """Return the terminal's modes as `stty` shows them."""
        return termios.tcgetattr(self.master)

    def _take(self, timeout_s: float) -> bytes:
        if self.master < 0:
            time.sleep(min(timeout_s, 0.01))
            return b""
        if self.bytes_per_s is not None:
            wait_s = self._free_at - time.monotonic()
            if wait_s > 0:
                time.sleep(min(wait_s, timeout_s))
                if wait_s > timeout_s:
                    return b""
        if not select.select([self.master], [], [], timeout_s)[0]:
            return b""
        try:
            data = os.read(self.master, _SLICE if self.bytes_per_s else _CHUNK)
        except OSError:  # the program has closed its end
            return b""
        if self.bytes_per_s is not None:
            self._free_at = max(self._free_at, time.monotonic()) + len(data) / self.bytes_per_s
        return data

    def _answer(self, answer: bytes) -> None:
        try:
            os.write(self.master, answer)
        except OSError:  # it has ended in the meantime
            return


def resize(descriptor: int, size: Size) -> None:
    """Set the size of a terminal."""
    columns, rows = size
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def cpu_s(pid: int) -> float:
    """Return the processor time of a process until now, in seconds; 0 when it has ended."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S if fields else 0.0


def rss_bytes(pid: int) -> int:
    """Return the resident memory of a process; 0 when it has ended."""
    fields = _stat(pid)
    return int(fields[21]) * _PAGE if fields else 0


def tree(pid: int) -> list[int]:
    """Return a process and all that descend from it."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (fields := _stat(int(folder.name))):
            parents.setdefault(int(fields[1]), []).append(int(folder.name))
    return list(_descend(pid, parents))


def _descend(pid: int, children: Mapping[int, list[int]]) -> Iterator[int]:
    yield pid
    for child in children.get(pid, ()):
        yield from _descend(child, children)


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the third, the state, on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _take_terminal(prepare: Callable[[], object] | None) -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if prepare is not None:
        prepare()
