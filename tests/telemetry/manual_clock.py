"""A clock that jumps from deadline to deadline, and runs a sampler on it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from kvtop.telemetry.gpu.source import GpuSource
from kvtop.telemetry.sampler import Sample, Sampler, SamplerStatus

EPOCH_S = 1_000_000.0
PATIENCE_S = 30.0


class ManualClock:
    """Starts at 0; each wait ends at once and sets the time to the deadline, `ticks` times."""

    def __init__(self, ticks: int) -> None:
        self.now = 0.0
        self.left = ticks
        self.done = threading.Event()

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return EPOCH_S + self.now

    def wait_until(self, deadline: float, stop: threading.Event) -> bool:
        if self.left == 0:
            self.done.set()
            stop.wait(PATIENCE_S)
            return True
        self.left -= 1
        self.now = max(self.now, deadline)
        return stop.is_set()


def sample_for(
    ticks: int,
    source: GpuSource,
    *,
    clock: ManualClock | None = None,
    sink: Callable[[Sample], None] | None = None,
    **options: Any,
) -> tuple[list[Sample], SamplerStatus]:
    """Run a sampler for `ticks` ticks; return its samples and its status before it was stopped."""
    samples: list[Sample] = []
    clock = clock or ManualClock(ticks)
    sampler = Sampler(source, sink or samples.append, clock=clock, **options)
    sampler.start()
    if sampler.wait_ready(PATIENCE_S) or options.get("retry"):
        assert clock.done.wait(PATIENCE_S)
    status = sampler.status()
    assert sampler.stop(PATIENCE_S)
    return samples, status
