"""How late the sampler is with 8 GPUs of a fake driver, whose calls take as long as reported for real ones.

    python benchmarks/sampler_lateness.py [--seconds 20] [--interval-ms 50] [--gpus 8] [--load]

Prints one JSON document with lateness in milliseconds. `--load` makes the main thread work as an event
loop with 32 streams does, which competes for the interpreter. Beside it a process that does nothing but
keep such deadlines shows how late the machine itself is (`bare`); `quiet` has those ticks of the sampler
alone around which (25 ms) the bare loop was at most 1 ms late. Budget: p99 at most 2 ms, on a machine that
is itself in time.

`--switch-ms` sets another switch interval of the interpreter than the sampler does (5 is Python's own) and
`--spin-ms` lets the sampler's clock spin for the end of each wait, to see whether either pays.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from bisect import bisect
from collections.abc import Iterable
from pathlib import Path

from kvtop.telemetry.clock import Deadlines, Lateness, LatenessLog, SystemClock
from kvtop.telemetry.gpu.detect import open_source
from kvtop.telemetry.sampler import Sample, Sampler

FAKE = Path(__file__).parents[1] / "tests" / "telemetry" / "fake_nvml.c"
SCRIPT = """
gpus {gpus}
delay nvmlDeviceGetMemoryInfo_v2 12
delay nvmlDeviceGetUtilizationRates 3
delay nvmlDeviceGetComputeRunningProcesses_v3 4500
"""
CHUNK = json.dumps({"choices": [{"index": 0, "delta": {"content": "word"}}], "usage": None})
STREAMS, TOKENS_PER_S, WORK_PER_TOKEN = 32, 40, 10
QUIET_S, NEAR_S = 0.001, 0.025
SETTLE_S = 1.0

Ticks = list[tuple[float, float]]
"""Monotonic time and lateness of each tick, in seconds."""


class SpinningClock(SystemClock):
    """Sleeps until shortly before the deadline and spins for the rest."""

    def __init__(self, spin_s: float) -> None:
        self._spin_s = spin_s

    def wait_until(self, deadline: float, stop: threading.Event) -> bool:
        if super().wait_until(deadline - self._spin_s, stop):
            return True
        while time.monotonic() < deadline:
            pass
        return False


def load_fake(folder: Path, gpus: int) -> None:
    """Build the fake driver library and load it, so that the bindings find it by its name."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        sys.exit("no C compiler (cc/gcc) to build the fake NVML")
    library, script = folder / "libnvidia-ml.so.1", folder / "script"
    script.write_text(SCRIPT.format(gpus=gpus))
    os.environ["FAKE_NVML_SCRIPT"] = str(script)
    link = ["-shared", "-fPIC", "-pthread", "-Wl,-soname,libnvidia-ml.so.1"]
    subprocess.run([compiler, "-O1", *link, "-o", library, FAKE], check=True)
    ctypes.CDLL(str(library))


def work_like_an_event_loop(seconds: float) -> None:
    """Parse chunks in bursts at the pace of many streams, about 50 us of Python each."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(STREAMS * WORK_PER_TOKEN):
            json.loads(CHUNK)
        time.sleep(1 / TOKENS_PER_S)


def keep_deadlines(interval_s: float, seconds: float) -> Ticks:
    """Keep deadlines and read nothing."""
    clock, never, ticks = SystemClock(), threading.Event(), Ticks()
    end = clock.monotonic() + seconds
    deadlines = Deadlines(clock.monotonic(), interval_s)
    while deadlines.current < end:
        clock.wait_until(deadlines.current, never)
        now = clock.monotonic()
        ticks.append((now, now - deadlines.current))
        deadlines.advance(clock.monotonic())
    return ticks


def percentiles(lates: Iterable[float]) -> dict[str, object]:
    """Return the figures for the document."""
    log = LatenessLog()
    for late_s in lates:
        log.add(late_s)
    return in_milliseconds(log.summary())


def in_milliseconds(late: Lateness) -> dict[str, object]:
    figures = (("p50", late.p50_s), ("p95", late.p95_s), ("p99", late.p99_s), ("max", late.max_s))
    told = {f"{name}_ms": None if value is None else round(value * 1000, 3) for name, value in figures}
    return {"n": late.n, **told}


def in_quiet_moments(ticks: Ticks, bare: Ticks) -> dict[str, object]:
    """Return the figures of those ticks alone around which the machine was in time."""
    times = [at for at, _ in bare]
    kept = []
    for at, late_s in ticks:
        around = bare[bisect(times, at - late_s - NEAR_S) : bisect(times, at + NEAR_S)]
        if around and max(late for _, late in around) <= QUIET_S:
            kept.append(late_s)
    return {"share": round(len(kept) / max(len(ticks), 1), 3), **percentiles(kept)}


def measure(options: argparse.Namespace, clock: SystemClock) -> tuple[Ticks, dict[str, object]]:
    """Sample and return each tick's lateness and what the sampler cost."""
    ticks, begin = Ticks(), time.monotonic()

    def receive(sample: Sample) -> None:
        now = time.monotonic()
        if now - begin > SETTLE_S:
            ticks.append((now, sample.gpus[0].late_s))

    sampler = Sampler(
        open_source(), receive, interval_s=options.interval_ms / 1000, engine_pid=os.getpid(), clock=clock
    )
    cpu_s = time.process_time()
    sampler.start()
    if options.switch_ms:
        sys.setswitchinterval(options.switch_ms / 1000)
    work_like_an_event_loop(options.seconds) if options.load else time.sleep(options.seconds)
    cpu_s = time.process_time() - cpu_s
    missed = sampler.status().missed
    stopped = sampler.stop()
    cpu_pct = round(100 * cpu_s / options.seconds, 2)
    return ticks, {"missed": missed, "cpu_pct": cpu_pct, "stopped": stopped}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--interval-ms", type=float, default=50.0)
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--load", action="store_true", help="let the main thread work meanwhile")
    parser.add_argument("--switch-ms", type=float, help="a switch interval unlike the sampler's")
    parser.add_argument("--spin-ms", type=float, default=0.0, help="spin for the end of each wait")
    parser.add_argument("--bare", action="store_true", help="keep the deadlines and read nothing")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    if options.bare:
        print(json.dumps(keep_deadlines(options.interval_ms / 1000, options.seconds)))
        return
    clock = SpinningClock(options.spin_ms / 1000) if options.spin_ms else SystemClock()
    with tempfile.TemporaryDirectory() as folder:
        load_fake(Path(folder), options.gpus)
        command = [sys.executable, *sys.argv, "--bare", "--interval-ms", "10"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as machine:
            time.sleep(SETTLE_S)
            ticks, cost = measure(options, clock)
            bare: Ticks = json.loads(machine.communicate()[0])
    results = {
        "sampler": {**percentiles(late_s for _, late_s in ticks), **cost},
        "bare": percentiles(late_s for _, late_s in bare),
        "quiet": in_quiet_moments(ticks, bare),
    }
    print(json.dumps({"asked": vars(options), **results}))


if __name__ == "__main__":
    main()
