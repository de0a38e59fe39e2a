"""What the app costs while it is watched: eight GPUs sampled at 100 ms, on a pty of 120x40.

    python -m benchmarks.app_live [--seconds 20] [--size 120x40]

Cases: nothing but GPUs; with the curves of a finished run; while a run goes on (its runner is another
process and not counted). Processor time in percent of one core, KiB/s to the terminal, resident memory.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.fake_driver import build, user
from benchmarks.figures import Figures, tell
from benchmarks.pty_app import PtyApp, Size, cpu_s, rss_bytes, tree

SETTLE_S = 4.0
FIRST_SCREEN_S = 30.0
KVTOP = [sys.executable, "-m", "kvtop"]
BUDGETS = {"cpu_pct": "<= 3", "kib_s": "<= 12", "rss_mib": "<= 60, <= 80 with curves"}


def size(text: str) -> Size:
    columns, _, rows = text.partition("x")
    return int(columns), int(rows)


def watch(
    command: Sequence[str], environ: dict[str, str], seconds: float, at: Size, first: bytes, keys: str = ""
) -> Figures:
    """Run a program until it shows `first`, let it settle, and measure it and its children."""
    with PtyApp(command, environ, size=at) as app:
        if not app.read_until(lambda: first in app.written, FIRST_SCREEN_S):
            raise TimeoutError(f"{command} shows no {first!r}: {bytes(app.written[-400:])!r}")
        first_s = time.perf_counter() - app.began_s
        app.press(keys)
        app.read_for(SETTLE_S)
        used_s = sum(map(cpu_s, tree(app.pid)))
        written = app.read_for(seconds)
        processes = tree(app.pid)
        used_s = sum(map(cpu_s, processes)) - used_s
        return {
            "first_screen_s": round(first_s, 3),
            "cpu_pct": round(100 * used_s / seconds, 2),
            "kib_s": round(written / 1024 / seconds, 2),
            "rss_mib": round(sum(map(rss_bytes, processes)) / 2**20, 1),
            "processes": len(processes),
        }


def demo_scan(environ: dict[str, str], lengths: str, repeats: int) -> subprocess.Popen[bytes]:
    command = [*KVTOP, "scan", "--demo", "--yes", "--lengths", lengths, "--repeats", str(repeats)]
    return subprocess.Popen(
        command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Figures]:
    environ = {**user(folder), **build(folder / "driver").environ}
    kvtop = (KVTOP, environ, options.seconds, options.size, b"quit")
    cases = {"GPUs": watch(*kvtop)}
    if demo_scan(environ, "1k,2k,4k,8k", 2).wait():
        sys.exit("the demo scan failed")
    cases["GPUs and curves"] = watch(*kvtop)
    with demo_scan(environ, "1k,2k,4k,8k", 500) as scan:
        time.sleep(SETTLE_S)
        cases["GPUs and a live run"] = watch(*kvtop)
        scan.terminate()
    return cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--size", type=size, default=(120, 40))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tell("app_live", BUDGETS, measure(options, Path(folder)))


if __name__ == "__main__":
    main()
