"""Samples GPUs and the engine's processes at a steady pace, in a thread that may hang without harm."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from kvtop.model.failure import Failure
from kvtop.telemetry.clock import Clock, Deadlines, SystemClock
from kvtop.telemetry.collector import Collector
from kvtop.telemetry.gpu.source import GpuSource
from kvtop.telemetry.health import Health, unexpected
from kvtop.telemetry.sample import Sample, SamplerState, SamplerStatus

__all__ = ["Sample", "Sampler", "SamplerState", "SamplerStatus"]


SWITCH_S = 0.001
"""How long another thread may hold the interpreter while a tick is due, in seconds. At Python's 5 ms a busy
event loop alone makes ticks 2 to 3 ms late (benchmarks/sampler_lateness.py)."""


class _SinkFailed(Exception):  # noqa: N818 - never seen outside
    """The receiver of the samples raised."""


class Sampler:
    """Reads `source` and the tree of `engine_pid` each `interval_s` and hands every sample to `sink`.

    Opening, all reads, `sink` and closing run in one daemon thread: a driver call that never returns
    stops the samples and nothing else, neither `stop` nor the end of the program. The thread is never
    replaced: a second one would wait for the driver's lock behind it, and when the call returns the
    samples go on. Without a GPU the engine is still read; with nothing to read the thread ends and
    `status` says why, or with `retry` it opens the source again, ever more rarely. `process_interval_s`
    is the time between two process lists of one GPU, a call that takes a lock of the whole driver;
    with `process_gap_s` it is longer where there are many GPUs: so much for each of them.
    """

    def __init__(
        self,
        source: GpuSource,
        sink: Callable[[Sample], None],
        *,
        interval_s: float = 0.1,
        engine_pid: int | None = None,
        process_interval_s: float = 2.0,
        process_gap_s: float = 0.0,
        retry: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self._sink = sink
        self._interval_s = interval_s
        self._retry = retry
        self._clock = clock or SystemClock()
        self._collector = Collector(
            source,
            self._clock,
            engine_pid=engine_pid,
            interval_s=interval_s,
            process_interval_s=process_interval_s,
            process_gap_s=process_gap_s,
        )
        self._health = Health()
        self._stopping = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kvtop-sampler", daemon=True)

    def start(self) -> None:
        """Begin to sample. Raises RuntimeError when called twice.

        From here on threads of this program give way after `SWITCH_S` instead of Python's 5 ms.
        """
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_S))
        self._health.opening(self._clock.monotonic())
        self._thread.start()

    def wait_ready(self, timeout_s: float) -> bool:
        """Wait for the first sample. False when it did not come in time or there is nothing to read (yet)."""
        self._ready.wait(timeout_s)
        status = self.status()
        return status.last_ts is not None and status.state != "failed"

    def stop(self, timeout_s: float = 0.3) -> bool:
        """Ask the thread to end and close the source; False when a call still holds it after `timeout_s`.

        Then it is left alone: closing the driver under a call would crash the process.
        """
        self._stopping.set()
        if self._thread.ident is None:
            return True
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def status(self) -> SamplerStatus:
        """Return how the sampler is doing now. Callable from any thread, never blocks on the driver."""
        return self._health.status(self._clock.monotonic())

    def _run(self) -> None:
        try:
            failure = self._sample()
        except _SinkFailed as error:
            failure = _sink_failure(error.__cause__)
        except Exception as error:  # noqa: BLE001 - the thread's end: told in `status` instead of on the screen
            failure = unexpected(error)
        self._collector.close()
        self._health.ended(failure)
        self._ready.set()

    def _sample(self) -> Failure | None:
        """Sample until asked to stop; return why it ended otherwise."""
        self._collector.open()
        while not self._collector.has_work:
            if not self._retry:
                return self._collector.failures[0] if self._collector.failures else _NOTHING_TO_READ
            if self._wait_for_retry():
                return None
            self._open_again()
        self._note_what_is_there()
        deadlines = Deadlines(self._clock.monotonic(), self._interval_s)
        while not self._clock.wait_until(deadlines.current, self._stopping):
            self._tick(deadlines)
        return None

    def _wait_for_retry(self) -> bool:
        """Wait for the next try to open the source; True when asked to stop."""
        retry_at = self._collector.retry_at or self._clock.monotonic()
        self._health.waiting(self._collector.failures, retry_at)
        self._ready.set()
        return self._clock.wait_until(retry_at, self._stopping)

    def _open_again(self) -> None:
        self._health.opening(self._clock.monotonic())
        self._collector.open()

    def _tick(self, deadlines: Deadlines) -> None:
        now = self._clock.monotonic()
        self._health.tick_began(now, self._clock.wall(), now - deadlines.current)
        sample = self._collector.collect(deadlines.current)
        if self._retry and self._collector.retry_at is not None and now >= self._collector.retry_at:
            self._collector.open()
        deadlines.advance(self._clock.monotonic())
        self._note_what_is_there(deadlines.missed)
        if sample.gpus or sample.processes:
            self._deliver(sample)
        self._ready.set()

    def _note_what_is_there(self, missed: int = 0) -> None:
        collector = self._collector
        retry_at = collector.retry_at if self._retry else None
        self._health.found(collector.devices, collector.failures, collector.notes, missed, retry_at)

    def _deliver(self, sample: Sample) -> None:
        try:
            self._sink(sample)
        except Exception as error:
            raise _SinkFailed from error


_NOTHING_TO_READ = Failure("nothing_to_read", "There is neither a GPU nor an engine process to read.")


def _sink_failure(error: BaseException | None) -> Failure:
    return Failure.of(
        "sink_failed",
        f"Samples could not be kept: {error!r}.",
        "Readings have stopped; what was kept is whole.",
    )
