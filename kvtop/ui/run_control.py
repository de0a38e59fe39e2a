"""Carries out what the user wants with runs: plan, start, open, stop. Slow steps run in threads."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from kvtop.model.failure import Failure, KvtopError
from kvtop.ui.messages import FailureShown, RunStarted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kvtop.providers.store import ProfileEntry
    from kvtop.ui.app import KvtopApp
    from kvtop.ui.messages import GpuSnapshot, ProgressTold, RunOpened
    from kvtop.ui.run_process import StartedRun
    from kvtop.ui.scan_request import ScanRequest

_NO_RUN = Failure("no_run", "There is no run to stop.", "s starts one.")


class RunControl:
    """The run in view, and the wishes about runs."""

    def __init__(self, app: KvtopApp) -> None:
        self._app = app
        self._run_id: str | None = None
        self._told: ProgressTold | None = None
        self._merged = False
        self._given_up: threading.Event | None = None
        self.folder = ""
        """Path of the run in view, empty without one."""
        self.snapshot: GpuSnapshot | None = None
        """What the GPUs showed last."""

    @property
    def _root(self) -> Path:
        return self._app.launch.settings.runs.dir

    @property
    def is_live(self) -> bool:
        """Whether the run in view is going on, as far as it has told."""
        return self._told is not None and self._told.state == "running"

    def opened(self, message: RunOpened) -> None:
        """Show a run that is followed now."""
        app = self._app
        self._run_id, self._told, self.folder = message.run_id, None, str(message.folder)
        app.session.opened(message.run_id, message.folder, live=message.live, simulated=message.simulated)
        app.header.run_is_simulated = message.simulated
        app.cockpit.open_run(message.run_id)
        app.cockpit.show_progress(None)
        app.feeds.run_is_live(live=message.live)
        app.show_header()

    def told(self, message: ProgressTold) -> None:
        """Show how far the run is."""
        was_live, self._told = self.is_live, message
        self._app.session.told(message.run_id, message.state, message.done)
        self._app.cockpit.show_progress(message)
        if was_live and not self.is_live:
            self._app.feeds.run_is_live(live=False)

    def plan_scan(self) -> None:
        """Ask what to measure, and start it."""
        self._in_thread(self._read_profiles, "kvtop-profiles")

    def choose_run(self) -> None:
        """Ask which run to show."""
        from kvtop.ui.screens.runs import RunsScreen

        self._app.push_screen(RunsScreen(self._root, glyphs=self._app.glyphs), self._open)

    def cancel(self) -> None:
        """Stop the run in view, or the one that is just starting."""
        if self._given_up is not None:
            self._given_up.set()
        elif self._run_id is None or not self.is_live:
            self._app.complain((_NO_RUN,))
        else:
            self.stop(self._run_id)

    def stop(self, run_id: str) -> None:
        """Ask the runner of a run to stop."""
        from kvtop.ui.run_process import cancel

        self._app.notify("Stopping after the request that is on its way; data is kept.", markup=False)
        self._in_thread(lambda: cancel(run_id, self._root), "kvtop-cancel")

    def resume(self, run_id: str) -> None:
        """Measure what is missing in a run."""
        from kvtop.ui.run_process import resume_run

        self._begin(
            lambda given_up: resume_run(
                run_id, self._root, environ=self._app.launch.environ, given_up=given_up
            )
        )

    def merge(self) -> None:
        """Show the requests of all runs, or of the one in view again."""
        self._merged = not self._merged
        self._app.feeds.merge(on=self._merged)
        self._app.cockpit.name_requests("all runs" if self._merged else self._run_id or "")

    def show_processes(self) -> None:
        """List the processes on the GPUs."""
        from kvtop.ui.screens.processes import ProcessesScreen

        self._app.push_screen(ProcessesScreen(lambda: self.snapshot))

    def started(self, message: RunStarted) -> None:
        """Follow a run that was started here."""
        self._given_up = None
        self._app.session.started(message.run_id, message.folder)
        self._app.feeds.open_run("latest")

    def not_started(self) -> None:
        """Note that the run that was to start did not."""
        self._given_up = None

    def _open(self, run_id: str | None) -> None:
        if run_id:
            self._app.feeds.open_run(run_id)

    def _read_profiles(self) -> None:
        from kvtop.providers.store import list_profiles

        profiles = list_profiles(self._app.launch.environ)
        self._app.call_from_thread(self._ask_scan, profiles)

    def _ask_scan(self, profiles: list[ProfileEntry]) -> None:
        from kvtop.ui.screens.scan_dialog import ScanDialog

        app, launch = self._app, self._app.launch
        dialog = ScanDialog(launch.settings, profiles, launch.demo, environ=launch.environ, glyphs=app.glyphs)
        app.push_screen(dialog, self._start)

    def _start(self, request: ScanRequest | None) -> None:
        from kvtop.ui.run_process import start_scan

        if request is not None:
            self._begin(
                lambda given_up: start_scan(
                    request, self._root, environ=self._app.launch.environ, given_up=given_up
                )
            )

    def _begin(self, begin: Callable[[threading.Event], StartedRun]) -> None:
        """Start a runner in a thread: its folder appears only after a while."""
        given_up = self._given_up = threading.Event()
        self._app.notify("Starting; x stops it.", markup=False, timeout=3)

        def run() -> None:
            try:
                started = begin(given_up)
            except KvtopError:
                self._app.call_from_thread(self.not_started)
                raise
            self._app.post_message(RunStarted(started.folder.id, started.folder.path))

        self._in_thread(run, "kvtop-start")

    def _in_thread(self, call: Callable[[], object], name: str) -> None:
        """Run a slow call in a thread that nothing waits for; its failure is told."""

        def run() -> None:
            with suppress(RuntimeError):  # the app has ended in the meantime
                try:
                    call()
                except KvtopError as error:
                    self._app.post_message(FailureShown(error.failure))

        threading.Thread(target=run, name=name, daemon=True).start()
