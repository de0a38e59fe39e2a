"""How long the app takes from exec to its first full screen, on a real pty.

    python benchmarks/app_start.py [--runs 7] [--size 120x40] [--limit 0.5]

The first full screen is there when the last line, the key bar, has arrived. Exit code 1 when the best run
takes longer than the limit.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time

LAST_WORDS = b"quit"
GIVE_UP_S = 20.0


def start(command: list[str], columns: int, rows: int, environ: dict[str, str]) -> tuple[int, int]:
    """Return pid and master descriptor of a command on a terminal of its own."""
    pid, master = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.execvpe(command[0], command, environ)
    return pid, master


def seconds_to_first_screen(command: list[str], columns: int, rows: int, environ: dict[str, str]) -> float:
    began = time.perf_counter()
    pid, master = start(command, columns, rows, environ)
    try:
        seen = b""
        while LAST_WORDS not in seen:
            if not select.select([master], [], [], GIVE_UP_S)[0]:
                raise TimeoutError("no first screen")
            seen += os.read(master, 65536)
        return time.perf_counter() - began
    finally:
        end(pid, master)


def end(pid: int, master: int) -> None:
    """Quit the app and take its exit status; what it still writes is read, so that it is not held up."""
    os.write(master, b"q")
    deadline = time.monotonic() + GIVE_UP_S
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        try:
            if select.select([master], [], [], 0.05)[0]:
                os.read(master, 65536)
        except OSError:
            pass
    os.close(master)


def environment(home: str) -> dict[str, str]:
    """Return the environment of a user who has set nothing, on a terminal of many colours."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return {**kept, "HOME": home, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--limit", type=float, default=0.5, help="seconds")
    options, rest = parser.parse_known_args()
    columns, rows = map(int, options.size.split("x"))
    command = [sys.executable, "-m", "kvtop", *rest]
    with tempfile.TemporaryDirectory() as home:
        environ = environment(home)
        times = [seconds_to_first_screen(command, columns, rows, environ) for _ in range(options.runs)]
    best = min(times)
    median = statistics.median(times)
    print(f"exec to first full screen at {options.size}: best {best:.3f} s, median {median:.3f} s")
    return 0 if best <= options.limit else 1


if __name__ == "__main__":
    sys.exit(main())
