"""`kvtop sample`: the memory sampler alone, into a CSV."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import threading
from collections.abc import Iterator

from kvtop.cli import arguments as arg
from kvtop.cli import exit_codes
from kvtop.cli.engine_process import require_process
from kvtop.cli.sample_file import SampleFile
from kvtop.cli.streams import say, say_failure, show_json
from kvtop.model.failure import Failure, KvtopError
from kvtop.model.quantity import format_seconds
from kvtop.settings.config import load_settings
from kvtop.simulator.process import start_simulator
from kvtop.telemetry.gpu.detect import open_source
from kvtop.telemetry.gpu.source import GpuSource
from kvtop.telemetry.sampler import Sampler, SamplerStatus

_READY_S = 10.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `kvtop sample`."""
    parser.add_argument("--out", required=True, metavar="F.csv", help="CSV of GPU readings; `-` for stdout")
    parser.add_argument("--force", action="store_true", help="overwrite a file that is there already")
    parser.add_argument(
        "--interval", type=arg.duration, metavar="100ms", help="time between samples (default 100ms)"
    )
    parser.add_argument(
        "--duration", type=arg.duration, metavar="600s", help="how long; until Ctrl-C when left out"
    )
    parser.add_argument(
        "--gpus", type=arg.names, default=(), metavar="0,2", help="only these GPUs, by index or UUID"
    )
    parser.add_argument(
        "--pid", type=arg.at_least_one, help="also sample this process and its children, into F.processes.csv"
    )
    parser.add_argument("--json", action="store_true", help="a JSON summary on stdout at the end")
    arg.add_demo(parser.add_argument_group("simulator"))
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Sample until the duration is over or a signal comes; every row is on disk at once."""
    if options.out == "-" and options.json:
        text = "--out - and --json both want stdout."
        raise KvtopError(Failure("contradiction", text, "Give --out a file."))
    interval_s = load_settings(os.environ, {"sampling.interval": options.interval}).sampling.interval_s
    require_process(options.pid)
    file = SampleFile(options.out, with_processes=options.pid is not None, overwrite=options.force)
    with file, _source(options) as source:
        sampler = Sampler(source, file.put, interval_s=interval_s, engine_pid=options.pid)
        stopped_by_user = _sample(sampler, file, options.duration, engine_pid=options.pid)
        status = sampler.status()
    if file.failure is not None and not file.rows:
        raise KvtopError(file.failure)
    _summarise(file, status, as_json=options.json)
    if file.failure is not None:
        say_failure(file.failure)
        return exit_codes.MEASURED_WITH_FAILURES
    return exit_codes.INTERRUPTED if stopped_by_user and options.duration is not None else exit_codes.DONE


@contextlib.contextmanager
def _source(options: argparse.Namespace) -> Iterator[GpuSource]:
    if not options.demo:
        yield open_source(gpus=options.gpus)
        return
    with start_simulator(options.demo_engine) as simulator:
        yield open_source(simulator.base_url, options.gpus)


def _sample(sampler: Sampler, file: SampleFile, duration_s: float | None, *, engine_pid: int | None) -> bool:
    """Run the sampler until its time is over, a signal comes or no row can be written any more.

    Returns whether a signal ended it. Raises KvtopError with nothing to sample.
    """
    signalled = threading.Event()

    def on_signal(*_: object) -> None:
        signalled.set()
        file.ended.set()

    previous = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        _sample_until(sampler, file.ended, duration_s, engine_pid=engine_pid)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return signalled.is_set()


def _sample_until(
    sampler: Sampler, ended: threading.Event, duration_s: float | None, *, engine_pid: int | None
) -> None:
    sampler.start()
    sampler.wait_ready(_READY_S)
    failure = sampler.status().failure
    if failure is not None and (engine_pid is None or failure.code == "no_such_gpu"):
        sampler.stop()
        raise KvtopError(failure)
    ended.wait(duration_s)
    sampler.stop()


def _summarise(file: SampleFile, status: SamplerStatus, *, as_json: bool) -> None:
    p50_s, p99_s, most_s = (file.lateness.percentile(share) for share in (0.5, 0.99, 1.0))
    if as_json:
        show_json(
            {
                "schema": "kvtop.sample/1",
                "out": [str(path) for path in file.paths],
                "rows": file.rows,
                "late_p50_s": p50_s,
                "late_p99_s": p99_s,
                "late_max_s": most_s,
                "missed": status.missed,
                "failure": status.failure.to_json() if status.failure else None,
            }
        )
        return
    paths = ", ".join(str(path) for path in file.paths) or "stdout"
    late = f"late p99 {format_seconds(p99_s)}, {status.missed} deadlines missed"
    say(f"{file.rows:,} rows in {paths}; {late}" if file.rows else "No sample was taken in this time.")
    if status.failure is not None:
        say_failure(status.failure)
