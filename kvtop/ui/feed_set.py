"""The feeds of the app: started after the first paint, ended without waiting."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from kvtop.model.failure import KvtopError
from kvtop.ui.messages import FailureShown, GpuSnapshot, ProfileSeen

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.message import Message

    from kvtop.model.endpoint import Endpoint
    from kvtop.ui.feeds.engine import EngineFeed
    from kvtop.ui.feeds.gpu import GpuFeed
    from kvtop.ui.feeds.runs import RunFeed
    from kvtop.ui.launch import Launch

RUN_SAMPLES_KEEP_S = 3.0
"""How long the samples of a live run stand before the app's own are drawn again."""


class FeedSet:
    """All that feeds the app. Everything that may take long is done in threads that nothing waits for."""

    def __init__(
        self,
        launch: Launch,
        post: Callable[[Message], object],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._launch = launch
        self._post = post
        self._clock = clock
        self._run_sampled_at = float("-inf")
        self._stopped = False
        self._gpu_names: dict[str, str] = {}
        self._gpu: GpuFeed | None = None
        self._runs: RunFeed | None = None
        self._engine: EngineFeed | None = None

    def start(self) -> None:
        """Start all feeds. The driver, the archive and the engine are each touched in a thread alone."""
        from kvtop.ui.feeds.gpu import GpuFeed
        from kvtop.ui.feeds.runs import RunFeed

        settings = self._launch.settings
        self._runs = RunFeed(self._post_of_run, settings.runs.dir)
        self._runs.start()
        self._gpu = GpuFeed(self._post_own, self._launch.open_source, settings.sampling.interval_s)
        self._gpu.start()
        threading.Thread(target=self._find_engine, name="kvtop-profile", daemon=True).start()

    def stop(self) -> None:
        """End all feeds. Returns at once, whatever a driver or a disk does."""
        self._stopped = True
        for feed in (self._gpu, self._engine):
            if feed is not None:
                feed.stop()
        if self._runs is not None:
            self._runs.stop(0.0)

    def open_run(self, run: str) -> None:
        """Follow the run that `run` names, or always the `latest` one."""
        if self._runs is not None:
            self._runs.open(run)

    def merge(self, *, on: bool) -> None:
        """Tell the requests of all runs together, or of one."""
        if self._runs is not None:
            self._runs.merge(on)

    def run_is_live(self, *, live: bool) -> None:
        """While a run is live it samples for us; the app's own sampler takes a step back."""
        if self._gpu is not None:
            self._gpu.slow(live)
            if live:
                self._gpu.rebase()

    def pace(self, interval_s: float) -> None:
        """Tell numbers only every `interval_s` seconds."""
        if self._gpu is not None:
            self._gpu.pace(interval_s)

    def _post_own(self, message: Message) -> None:
        if isinstance(message, GpuSnapshot):
            self._name_gpus(message)
        if isinstance(message, GpuSnapshot) and self._clock() - self._run_sampled_at < RUN_SAMPLES_KEEP_S:
            return
        self._send(message)

    def _post_of_run(self, message: Message) -> None:
        if isinstance(message, GpuSnapshot):
            self._run_sampled_at = self._clock()
        self._send(message)

    def _name_gpus(self, snapshot: GpuSnapshot) -> None:
        """Tell the run feed what the GPUs are called: run folders hold no names."""
        names = {device.uuid: device.name for device in snapshot.status.devices}
        if names != self._gpu_names and self._runs is not None:
            self._gpu_names = names
            self._runs.name_gpus(names)

    def _send(self, message: Message) -> None:
        if not self._stopped:
            with suppress(RuntimeError):  # the event loop has just ended
                self._post(message)

    def _find_engine(self) -> None:
        from kvtop.ui.feeds.engine import EngineFeed

        endpoint = self._endpoint()
        if endpoint is None or self._stopped:
            return
        self._engine = EngineFeed(self._send, endpoint)
        self._engine.start()

    def _endpoint(self) -> Endpoint | None:
        """Return what the profile of the settings names, or the simulator. Failures are told."""
        from kvtop.model.endpoint import Endpoint

        try:
            if self._launch.engine_url is not None:
                url = self._launch.engine_url()
                return Endpoint(url, "", simulated=self._launch.demo is not None) if url else None
            return self._of_profile()
        except KvtopError as error:
            self._send(FailureShown(error.failure))
            return None

    def _of_profile(self) -> Endpoint | None:
        from kvtop.providers.endpoint import endpoint_of
        from kvtop.providers.store import load_profile

        name = self._launch.settings.profile
        if not name:
            return None
        profile = load_profile(name, self._launch.environ)
        self._send(ProfileSeen(profile.name, None if profile.verify_tls else "TLS not verified"))
        return endpoint_of(profile, self._launch.environ)
