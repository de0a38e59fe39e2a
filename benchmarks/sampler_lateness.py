"""How late the sampler is with 8 GPUs of a fake driver, whose calls take as long as reported for real ones.

    python benchmarks/sampler_lateness.py [--seconds 20] [--interval-ms 50] [--gpus 8] [--load]

Prints one JSON document with lateness in milliseconds. `--load` makes the main thread parse answers
as a runner with 32 streams does, which competes for the interpreter. Beside it a process that does
nothing but keep the same deadlines shows how late the machine itself is (`machine`). Budget: p99 at
most 2 ms on an idle machine.
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
from pathlib import Path

from kvtop.telemetry.clock import Deadlines, Lateness, LatenessLog, SystemClock, summarise
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
STREAMS, TOKENS_PER_S = 32, 40


def load_fake(folder: Path, gpus: int) -> None:
    """Build the fake driver library and load it, so that the bindings find it by its name."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        sys.exit("no C compiler (cc/gcc) to build the fake NVML")
    library, script = folder / "libnvidia-ml.so.1", folder / "script"
    script.write_text(SCRIPT.format(gpus=gpus))
    os.environ["FAKE_NVML_SCRIPT"] = str(script)
    link = ["-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1"]
    subprocess.run([compiler, "-O1", *link, "-o", library, FAKE], check=True)
    ctypes.CDLL(str(library))


def parse_answers(seconds: float) -> None:
    """Parse chunks in bursts at the pace of many streams."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(STREAMS):
            json.loads(CHUNK)
        time.sleep(1 / TOKENS_PER_S)


def keep_deadlines(interval_s: float, seconds: float) -> dict[str, object]:
    """Keep the same deadlines and read nothing."""
    clock, never, log = SystemClock(), threading.Event(), LatenessLog()
    end = clock.monotonic() + seconds
    deadlines = Deadlines(clock.monotonic(), interval_s)
    while deadlines.current < end:
        clock.wait_until(deadlines.current, never)
        log.add(clock.monotonic() - deadlines.current)
        deadlines.advance(clock.monotonic())
    return in_milliseconds(summarise(*log.snapshot()))


def in_milliseconds(late: Lateness) -> dict[str, object]:
    """Return the figures for the document."""
    figures = (("p50", late.p50_s), ("p95", late.p95_s), ("p99", late.p99_s), ("max", late.max_s))
    told = {f"{name}_ms": None if value is None else round(value * 1000, 3) for name, value in figures}
    return {"n": late.n, **told}


def measure(interval_s: float, seconds: float, *, load: bool) -> dict[str, object]:
    """Sample for `seconds` and return the sampler's own account of its lateness."""
    samples: list[Sample] = []
    sampler = Sampler(open_source(), samples.append, interval_s=interval_s, engine_pid=os.getpid())
    cpu_s = time.process_time()
    sampler.start()
    parse_answers(seconds) if load else time.sleep(seconds)
    cpu_s = time.process_time() - cpu_s
    status = sampler.status()
    stopped = sampler.stop()
    return {
        **in_milliseconds(status.lateness),
        "missed": status.missed,
        "samples": len(samples),
        "cpu_pct": round(100 * cpu_s / seconds, 2),
        "stopped": stopped,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--interval-ms", type=float, default=50.0)
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--load", action="store_true", help="parse answers in the main thread meanwhile")
    parser.add_argument("--machine", action="store_true", help="keep the deadlines and read nothing")
    options = parser.parse_args()
    if options.machine:
        print(json.dumps(keep_deadlines(options.interval_ms / 1000, options.seconds)))
        return
    with tempfile.TemporaryDirectory() as folder:
        load_fake(Path(folder), options.gpus)
        machine = subprocess.Popen([sys.executable, *sys.argv, "--machine"], stdout=subprocess.PIPE)
        result = measure(options.interval_ms / 1000, options.seconds, load=options.load)
    asked = {"gpus": options.gpus, "interval_ms": options.interval_ms, "load": options.load}
    print(json.dumps({**asked, **result, "machine": json.loads(machine.communicate()[0])}))


if __name__ == "__main__":
    main()
