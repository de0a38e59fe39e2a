"""How soon a key shows on a terminal that takes 16 KiB/s, with eight busy GPUs in view.

    python -m benchmarks.slow_link [--runs 7] [--kib-s 16] [--size 120x40]

A letter typed into the filter; `?`, to the first line of the help and to all of it, which is many bytes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from benchmarks.app_live import demo_scan, size
from benchmarks.fake_driver import build, user
from benchmarks.figures import spread, tell
from benchmarks.pty_app import LINK_BYTES_PER_S, PtyApp

PATIENCE_S = 20.0
SETTLE_S = 6.0
PAUSE_S = 1.3
"""Between two keys; no multiple of a period of the app's."""
LETTERS = "ZQXJYEU"
"""Letters that nothing else on the screen changes to."""
BUDGETS = {"median_s": "< 0.3"}


def seconds_until(app: PtyApp, words: bytes, began_s: float, since: int) -> float:
    if not app.read_until(lambda: words in app.written[since:], PATIENCE_S):
        raise TimeoutError(f"{words!r} does not show")
    return time.perf_counter() - began_s


def measure(app: PtyApp, runs: int) -> dict[str, list[float]]:
    """Press keys again and again and return how long each took to show."""
    times = defaultdict(list)
    for _ in range(runs):
        app.read_for(PAUSE_S)
        since, began_s = len(app.written), time.perf_counter()
        app.press("?")
        times["? first line"].append(seconds_until(app, b"Plan a length scan", began_s, since))
        times["? whole"].append(seconds_until(app, b"Esc closes", began_s, since))
        app.read_for(PAUSE_S)
        app.press("\x1b")
    app.read_for(PAUSE_S)
    app.press("/")
    for number in range(min(runs, len(LETTERS))):
        app.read_for(PAUSE_S)
        since, began_s = len(app.written), time.perf_counter()
        app.press(LETTERS[number])
        letter = LETTERS[number].encode()
        times["letter in the filter"].append(seconds_until(app, letter, began_s, since))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--kib-s", type=float, default=LINK_BYTES_PER_S / 1024)
    parser.add_argument("--size", type=size, default=(120, 40))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        environ = {**user(Path(name)), **build(Path(name) / "driver").environ}
        if demo_scan(environ, "256,512", 2).wait():  # so that there are requests to filter
            sys.exit("the demo scan failed")
        command = [sys.executable, "-m", "kvtop"]
        with PtyApp(command, environ, size=options.size, bytes_per_s=options.kib_s * 1024) as app:
            first_s = seconds_until(app, b"GiB", app.began_s, 0)
            app.read_for(SETTLE_S)
            times = measure(app, options.runs)
    cases = {key: spread(seconds) for key, seconds in times.items()}
    tell(f"slow_link at {options.kib_s:g} KiB/s (first reading after {first_s:.2f} s)", BUDGETS, cases)


if __name__ == "__main__":
    main()
