"""Scenarios against the fake NVML, each run in a process of its own: `python -m … NAME {"argument": …}`."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from kvtop.telemetry.gpu.detect import open_source
from kvtop.telemetry.one_reading import read_once
from kvtop.telemetry.sampler import Sample, Sampler
from tests.telemetry.manual_clock import PATIENCE_S, ManualClock, sample_for


def once(*, gpus: list[str] = [], timeout_s: float = PATIENCE_S, engine_pid: int | None = None) -> Any:  # noqa: B006 - only read
    return read_once(open_source(gpus=gpus), timeout_s=timeout_s, engine_pid=engine_pid)


def sample(*, ticks: int, host_pids: bool = True, **options: Any) -> Any:
    with patch("kvtop.telemetry.collector.sees_host_pids", lambda: host_pids):
        samples, status = sample_for(ticks, open_source(), **options)
    return {"samples": samples, "status": status, "main_thread": threading.get_native_id()}


def sample_with_change(*, before: int, ticks: int, change: str, control: str) -> Any:
    """Sample, and after `before` ticks put `change` into the fake's control file."""
    samples: list[Sample] = []

    def receive(sample: Sample) -> None:
        samples.append(sample)
        if len(samples) == before:
            written = Path(f"{control}.new")
            written.write_text(change)
            written.replace(control)

    _, status = sample_for(ticks, open_source(), sink=receive)
    return {"samples": samples, "status": status}


def stop_while_hanging(*, fifo: str, release: bool, retry: bool = False) -> Any:
    """Stop while the driver holds the thread; with `release` the driver then answers after all."""
    clock = ManualClock(1000)
    samples: list[Sample] = []
    sampler = Sampler(open_source(), samples.append, clock=clock, retry=retry)
    sampler.start()
    Path(f"{fifo}.in").read_bytes()
    clock.now += 60.0
    status = sampler.status()
    stopped = sampler.stop(0.05)
    if release:
        Path(f"{fifo}.out").write_bytes(b"go")
        stopped = sampler.stop(PATIENCE_S)
    return {"status": status, "stopped": stopped, "samples": len(samples), "after": sampler.status()}


def hang_on_demand(*, control: str, trace: str) -> Any:
    """Hang while the control file says so, then go on."""
    clock = ManualClock(3)
    samples: list[Sample] = []
    sampler = Sampler(open_source(), samples.append, clock=clock)
    sampler.start()
    while "nvmlDeviceGetMemoryInfo_v2 1" not in Path(trace).read_text():
        time.sleep(0.002)
    clock.now += 60.0
    hanging = sampler.status()
    Path(control).unlink()
    assert clock.done.wait(PATIENCE_S)
    status = sampler.status()
    return {"hanging": hanging, "status": status, "stopped": sampler.stop(PATIENCE_S), "samples": samples}


SCENARIOS: dict[str, Callable[..., Any]] = {
    scenario.__name__: scenario
    for scenario in (once, sample, sample_with_change, stop_while_hanging, hang_on_demand)
}


def _plain(value: object) -> Any:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value))


if __name__ == "__main__":
    json.dump(SCENARIOS[sys.argv[1]](**json.loads(sys.argv[2])), sys.stdout, default=_plain)
