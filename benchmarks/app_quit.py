"""How long the app takes to end: by its key, by a signal, while the driver hangs, and without a terminal.

python -m benchmarks.app_quit [--runs 5]
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.fake_driver import FakeDriver, build, user
from benchmarks.figures import Figures, spread, tell
from benchmarks.pty_app import PtyApp, cpu_s

PATIENCE_S = 30.0
BUDGETS = {"worst_s": "<= 0.5; <= 3 without a terminal"}
HANGS = "hang nvmlDeviceGetMemoryInfo_v2 0\n"
HANGS_AT_START = "hang nvmlInitWithFlags -1\n"


def ignore_hang_ups() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def by_key(app: PtyApp) -> float:
    app.press("q")
    return app.wait(PATIENCE_S)


def by_signal(app: PtyApp) -> float:
    app.send(signal.SIGTERM)
    return app.wait(PATIENCE_S)


def by_loss(app: PtyApp) -> float:
    """Close the terminal; the process must not spin until it ends."""
    used_s = cpu_s(app.pid)
    app.hang_up()
    began_s = time.perf_counter()
    while app.status is None:
        if time.perf_counter() - began_s > PATIENCE_S:
            raise TimeoutError("it lives on without a terminal")
        if cpu_s(app.pid) - used_s > 1.0:
            raise TimeoutError("it spins without a terminal")
        time.sleep(0.005)
    return time.perf_counter() - began_s


def end_once(folder: Path, driver: FakeDriver, end: Callable[[PtyApp], float], rules: str) -> float:
    """Start the app on a driver, have the rules hold, and end it."""
    driver.now(rules if rules == HANGS_AT_START else "\n")
    environ = {**user(folder), **driver.environ}
    prepare = ignore_hang_ups if end is by_loss else None
    with PtyApp([sys.executable, "-m", "kvtop"], environ, prepare=prepare) as app:
        first = b"quit" if rules == HANGS_AT_START else b"GiB"
        if not app.read_until(lambda: first in app.written, PATIENCE_S):
            raise TimeoutError("no first screen")
        app.read_for(1.0)
        driver.now(rules)
        if rules == HANGS:
            app.read_until(lambda: b"GPU readings" in app.written, PATIENCE_S)
        return end(app)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    ways = {
        "q": (by_key, "\n"),
        "SIGTERM": (by_signal, "\n"),
        "q, a driver call hangs": (by_key, HANGS),
        "q, the driver hangs at its start": (by_key, HANGS_AT_START),
        "terminal gone, SIGHUP ignored": (by_loss, "\n"),
        "terminal gone, a driver call hangs": (by_loss, HANGS),
    }
    cases: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as name:
        driver = build(Path(name) / "driver")
        for way, (end, rules) in ways.items():
            cases[way] = spread([end_once(Path(name), driver, end, rules) for _ in range(runs)])
    tell("app_quit", BUDGETS, cases)


if __name__ == "__main__":
    main()
