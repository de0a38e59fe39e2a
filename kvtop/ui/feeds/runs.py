"""Follows run folders in a thread of its own and tells what is new in messages, at most twice a second."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from kvtop.model.failure import Failure, KvtopError
from kvtop.runs.archive import find_run
from kvtop.runs.manifest import Manifest, read_manifest
from kvtop.ui.feeds.followed_run import FollowedRun
from kvtop.ui.feeds.merged_requests import MergedRequests
from kvtop.ui.feeds.newest_runs import NewestRuns
from kvtop.ui.messages import FailureShown, RequestsArrived

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from kvtop.runs.layout import RunFolder
    from kvtop.ui.messages import Told

LATEST = "latest"
ALL_RUNS = ""
"""The run id of requests of all runs together."""
POLL_S = 0.5
"""Shortest time between two batches of messages, in seconds."""

_CANDIDATES = 50
"""How many of the newest folders are tried when they cannot be read."""


class RunFeed:
    """Follows the newest run, also one that another shell starts, or a chosen one.

    `start`, `open`, `merge` and `stop` return at once: a slow disk is waited for by the thread alone.
    Messages of one batch come in the order RunOpened, RequestsArrived, FindingsChanged, ProgressTold,
    GpuSnapshot. Each failure is told once.
    """

    def __init__(self, post: Callable[[Told], object], runs_root: Path, *, poll_s: float = POLL_S) -> None:
        self._post = post
        self._root = runs_root
        self._poll_s = poll_s
        self._newest = NewestRuns(runs_root)
        self._run: FollowedRun | None = None
        self._merged: MergedRequests | None = None
        self._told: set[tuple[str, str]] = set()
        self._follows_latest = True
        self._gpu_names: Mapping[str, str] = {}
        self._lock = threading.Lock()
        self._wanted: str | None = LATEST
        self._wants_merge = False
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="kvtop-run-feed", daemon=True)

    def start(self) -> None:
        """Begin to follow. Raises RuntimeError when called twice."""
        self._thread.start()

    def open(self, run: str) -> None:
        """Follow the run that `run` names (an id, a piece of one, a path), or always the `latest` one."""
        with self._lock:
            self._wanted = run
        self._wake.set()

    def merge(self, on: bool) -> None:  # noqa: FBT001 - a switch, and named by its method
        """Tell the requests of the newest runs together, as `ALL_RUNS`, or those of the run alone."""
        with self._lock:
            self._wants_merge = on
        self._wake.set()

    def name_gpus(self, names: Mapping[str, str]) -> None:
        """Give the names of this host's GPUs by UUID; run folders hold none."""
        with self._lock:
            self._gpu_names = dict(names)

    def stop(self, timeout_s: float = 0.2) -> bool:
        """End the thread; False when the disk still holds it after `timeout_s`. Then it is left alone."""
        self._stopping.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        try:
            self._follow()
        except Exception as error:  # noqa: BLE001 - the thread's end: told, instead of standing still unseen
            text = f"Following the runs ended: {error!r}."
            self._show(Failure.of("feed_failed", text, "Please report this; the runs themselves go on."))

    def _follow(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            has_more = self._look()
            if not has_more:
                self._wake.wait(self._poll_s)

    def _look(self) -> bool:
        """Post one batch. Returns whether there is more to read at once."""
        with self._lock:
            wanted, self._wanted = self._wanted, None
            wants_merge, names = self._wants_merge, self._gpu_names
        self._attempt(lambda: self._choose(wanted))
        has_more = self._merge_news(on=wants_merge)
        if self._run is not None:
            for message in self._run.news(names, with_requests=self._merged is None):
                self._send(message)
            has_more = has_more or self._run.has_more
        return has_more

    def _choose(self, wanted: str | None) -> None:
        """Open the run that is asked for, or a newer one than that which is followed."""
        if wanted is not None:
            self._told.clear()  # whoever asks again is answered again
        if wanted is not None and wanted != LATEST:
            folder = find_run(self._root, wanted)
            self._open(folder, self._manifest(folder))
            self._follows_latest = False
            return
        self._follows_latest = self._follows_latest or wanted == LATEST
        if self._follows_latest:
            self._open_newest()

    def _open_newest(self) -> None:
        for folder in self._newest.folders()[:_CANDIDATES]:
            if self._run is not None and folder == self._run.folder:
                return
            if not folder.run_toml.exists():
                continue  # its runner is just beginning, or never did
            try:
                manifest = read_manifest(folder)
            except KvtopError as error:
                self._show(error.failure)
                continue
            self._open(folder, manifest)
            return

    def _manifest(self, folder: RunFolder) -> Manifest | None:
        """Return the manifest; None, which is told, where the rest of the folder may still be readable."""
        try:
            return read_manifest(folder)
        except KvtopError as error:
            if error.failure.code != "unreadable_run":
                raise
            self._show(error.failure)
            return None

    def _open(self, folder: RunFolder, manifest: Manifest | None) -> None:
        self._run = FollowedRun(folder, manifest)
        self._send(self._run.opened())

    def _merge_news(self, *, on: bool) -> bool:
        if on and self._merged is None:
            self._merged = MergedRequests()
        elif not on and self._merged is not None:
            self._merged = None
            if self._run is not None:
                self._run.show_requests_again()
        if self._merged is None:
            return False
        folders = self._newest_folders()
        news = self._merged.news(folders)
        if news is None:
            return False
        self._send(RequestsArrived(run_id=ALL_RUNS, records=news.records, replace=news.replace))
        return news.more

    def _newest_folders(self) -> tuple[RunFolder, ...]:
        try:
            return self._newest.folders()
        except KvtopError as error:
            self._show(error.failure)
            return ()

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            action()
        except KvtopError as error:
            self._show(error.failure)

    def _show(self, failure: Failure) -> None:
        key = (failure.code, failure.text)
        if key not in self._told:
            self._told.add(key)
            self._send(FailureShown(failure=failure))

    def _send(self, message: Told) -> None:
        if not self._stopping.is_set():
            self._post(message)
