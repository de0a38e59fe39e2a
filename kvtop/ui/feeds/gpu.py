"""Samples the GPUs for the app and tells it what they show, twice a second at most."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from kvtop.model.failure import KvtopError
from kvtop.telemetry.sample import SamplerStatus
from kvtop.ui.feeds.gpu_state import GpuState
from kvtop.ui.feeds.kept_source import KeptSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.message import Message

    from kvtop.telemetry.gpu.source import GpuSource
    from kvtop.telemetry.sampler import Sampler

SHORTEST_PACE_S = 0.5
"""Time between two snapshots: nobody reads numbers faster."""
SLOW_INTERVAL_S = 1.0
"""Sampling interval while a run is live, whose own samples are drawn."""
PROCESS_GAP_S = 0.6
"""Time between two process lists: each holds a lock of the whole driver for some 9 ms
(MangoHud#2104), and nobody looks at them most of the time. 8 GPUs are then listed every 5 s."""

_AFTER_THE_SECOND_S = 0.05
_RESTART_PATIENCE_S = 0.3


class GpuFeed:
    """Owns a `Sampler` and posts a `GpuSnapshot` every `SHORTEST_PACE_S`, a little after the whole second.

    `source` may be a function that makes it: importing the driver's bindings takes time that the first
    paint should not wait for. Threads are daemons; nothing here waits for the driver.
    """

    def __init__(
        self,
        post: Callable[[Message], object],
        source: GpuSource | Callable[[], GpuSource],
        interval_s: float = 0.1,
        engine_pid: int | None = None,
    ) -> None:
        self._post = post
        self._make_source = source
        self._interval_s = self._wanted_interval_s = interval_s
        self._fast_interval_s = interval_s
        self._engine_pid = engine_pid
        self._pace_s = SHORTEST_PACE_S
        self._state = GpuState()
        self._source: KeptSource | None = None
        self._sampler: Sampler | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kvtop-gpu-feed", daemon=True)

    def start(self) -> None:
        """Begin to sample and to post. Raises RuntimeError when called twice."""
        self._thread.start()

    def stop(self) -> None:
        """Post and sample no more. Returns at once, also while the driver hangs."""
        self._stopping.set()
        if self._source is not None:
            self._source.finish()
        if self._sampler is not None:
            self._sampler.stop(0.0)

    def slow(self, on: bool) -> None:  # noqa: FBT001 - the app's interface
        """Sample once a second while `on`, else at the interval asked for."""
        slow_s = max(SLOW_INTERVAL_S, self._fast_interval_s)
        self._wanted_interval_s = slow_s if on else self._fast_interval_s

    def rebase(self) -> None:
        """Tell changes of memory against the next reading, as at the start of a run."""
        self._state.rebase()

    def pace(self, every_s: float) -> None:
        """Post only every `every_s` seconds, for a terminal that takes bytes slowly; never below 0.5 s."""
        self._pace_s = max(every_s, SHORTEST_PACE_S)

    def _run(self) -> None:
        try:
            made = self._make_source() if callable(self._make_source) else self._make_source
        except KvtopError as error:
            self._tell(SamplerStatus("failed", (error.failure,)))
            return
        self._source = KeptSource(made)
        sampler = self._sample_with(self._source)
        sampler.wait_ready(SHORTEST_PACE_S)
        while not self._stopping.is_set():
            status = sampler.status()
            self._tell(status)
            if status.state == "failed" and status.last_ts is None:
                break
            self._stopping.wait(self._until_next(time.time()))
            if self._wanted_interval_s != self._interval_s and sampler.stop(_RESTART_PATIENCE_S):
                sampler = self._sample_with(self._source)
        self.stop()

    def _sample_with(self, source: KeptSource) -> Sampler:
        """Start a sampler; the one before has ended, so no two threads are in the driver."""
        from kvtop.telemetry.sampler import Sampler  # late: after the first paint

        self._interval_s = self._wanted_interval_s
        sampler = Sampler(
            source,
            self._state.add,
            interval_s=self._interval_s,
            engine_pid=self._engine_pid,
            process_gap_s=PROCESS_GAP_S,
            retry=True,
        )
        self._sampler = sampler
        sampler.start()
        return sampler

    def _tell(self, status: SamplerStatus) -> None:
        with suppress(RuntimeError):  # the app's event loop has just ended
            self._post(self._state.snapshot(status, time.time()))

    def _until_next(self, now_ts: float) -> float:
        """Return the seconds to the next turn: at fixed places of the second, so histories move evenly."""
        past = (now_ts - _AFTER_THE_SECOND_S) % self._pace_s
        return self._pace_s - past
