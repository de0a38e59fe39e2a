"""The sampler's state, written by its thread and read by any other."""

from __future__ import annotations

import threading

from kvtop.model.failure import Failure
from kvtop.model.reading import GpuDevice
from kvtop.telemetry.clock import LatenessLog
from kvtop.telemetry.sample import SamplerState, SamplerStatus

HANG_AFTER_S = 2.0
"""Longest time that one tick may take before the driver counts as hanging."""
OPENING_HANG_AFTER_S = 10.0
"""The same for opening: without persistence mode the driver needs seconds to load."""


class Health:
    """What `Sampler.status` tells. Times are monotonic seconds except `ts`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lateness = LatenessLog()
        self._state: SamplerState = "new"
        self._own_failure: Failure | None = None
        self._failures: tuple[Failure, ...] = ()
        self._notes: tuple[Failure, ...] = ()
        self._retry_at: float | None = None
        self._devices: tuple[GpuDevice, ...] = ()
        self._busy_since: float | None = None
        self._last_ts: float | None = None
        self._last_tick: float | None = None
        self._missed = 0

    def opening(self, now: float) -> None:
        """Note that the source is being opened."""
        with self._lock:
            self._state, self._busy_since = "opening", now

    def waiting(self, failures: tuple[Failure, ...], retry_at: float) -> None:
        """Note that there is nothing to read before `retry_at`."""
        with self._lock:
            self._state, self._busy_since = "waiting", None
            self._failures, self._retry_at = failures, retry_at

    def found(
        self,
        devices: tuple[GpuDevice, ...],
        failures: tuple[Failure, ...],
        notes: tuple[Failure, ...],
        missed: int,
        retry_at: float | None,
    ) -> None:
        """Note, after opening and after each tick, what the source has and what it lacks."""
        with self._lock:
            self._state, self._busy_since = "running", None
            self._devices, self._failures, self._notes = devices, failures, notes
            self._missed, self._retry_at = missed, retry_at

    def tick_began(self, now: float, ts: float, late_s: float) -> None:
        """Note the start of a tick."""
        with self._lock:
            self._busy_since = self._last_tick = now
            self._last_ts = ts
            self._lateness.add(late_s)

    def ended(self, failure: Failure | None = None) -> None:
        """Note that no more samples will come, and why if nobody asked for it."""
        with self._lock:
            self._busy_since = self._retry_at = None
            self._own_failure = failure
            self._state = "failed" if failure else "stopped"

    def status(self, now: float) -> SamplerStatus:
        """Return the state at `now`."""
        with self._lock:
            state, own = self._state_at(now)
            return SamplerStatus(
                state,
                tuple(dict.fromkeys((*((own,) if own else ()), *self._failures))),
                self._devices,
                self._last_ts,
                None if self._last_tick is None else now - self._last_tick,
                lateness=self._lateness.summary(),
                missed=self._missed,
                notes=self._notes,
                retry_in_s=None if self._retry_at is None else max(self._retry_at - now, 0.0),
            )

    def _state_at(self, now: float) -> tuple[SamplerState, Failure | None]:
        limit_s = OPENING_HANG_AFTER_S if self._state == "opening" else HANG_AFTER_S
        if self._busy_since is None or now - self._busy_since < limit_s:
            return self._state, self._own_failure
        return "hanging", driver_hangs(now - self._busy_since)


def driver_hangs(for_s: float) -> Failure:
    """Return the failure for a driver call that has not returned for `for_s` seconds."""
    return Failure.of(
        "driver_hangs",
        f"A GPU driver call has not returned for {for_s:.0f} s.",
        "Without persistence mode the driver may need seconds to load (nvidia-smi -pm 1); "
        "if nvidia-smi hangs too, look for Xid messages in the kernel log and reboot.",
    )


def unexpected(error: Exception) -> Failure:
    """Return the failure for an error that no one foresaw, at the end of a thread."""
    return Failure.of("sampler_failed", f"Reading ended: {error!r}.", "Please report this.")
