"""Bare `kvtop` on a terminal: the app, on this host or on the embedded simulator."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from kvtop.cli import exit_codes
from kvtop.cli.streams import say_failure, show
from kvtop.model.failure import Failure, KvtopError
from kvtop.settings.config import Settings, load_settings, settings_without_file
from kvtop.simulator.options import EngineKind
from kvtop.simulator.process import SimulatorProcess, start_simulator
from kvtop.telemetry.gpu.source import GpuSource
from kvtop.ui.launch import Launch, refusal, run_app


def run(options: argparse.Namespace) -> int:
    """Run the app and return the exit code. Raises KvtopError for a wrong flag."""
    failure = refusal(os.environ, sys.stdin, sys.stderr)
    if failure is not None:
        say_failure(failure)
        return exit_codes.WRONG_USE
    settings, notices = _settings(_flags(options))
    simulator = Simulator(options.demo_engine) if options.demo else None
    ended = run_app(
        Launch(
            settings,
            lambda: _open_source(simulator, options.gpus),
            simulator.base_url if simulator else None,
            options.demo_engine if options.demo else None,
            notices,
            options.color,
            legacy_keys=options.legacy_keys,
            environ=dict(os.environ),
        )
    )
    for line in ended.last_words:
        show(line)
    return ended.exit_code


class Simulator:
    """The embedded simulator: started when first asked for, after the first paint; ends with this process."""

    def __init__(self, engine: EngineKind) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._process: SimulatorProcess | None = None

    def base_url(self) -> str:
        """Return its address once it listens. Raises KvtopError `simulator_failed`."""
        with self._lock:
            if self._process is None:
                self._process = start_simulator(self._engine)
            return self._process.base_url


def _open_source(simulator: Simulator | None, gpus: Sequence[str]) -> GpuSource:
    from kvtop.telemetry.gpu.detect import open_source

    return open_source(simulator.base_url() if simulator else None, gpus)


def _settings(flags: Mapping[str, Any]) -> tuple[Settings, tuple[Failure, ...]]:
    """Return the settings; a broken file is told in the app, which then goes without it."""
    try:
        return load_settings(os.environ, flags), ()
    except KvtopError as error:
        return settings_without_file(os.environ, flags), (error.failure,)


def _flags(options: argparse.Namespace) -> dict[str, object]:
    return {
        "profile": options.profile,
        "runs.dir": options.runs_dir,
        "sampling.interval": options.interval,
        "ui.theme": options.theme,
        "ui.ascii": options.ascii,
        "ui.mouse": options.mouse,
        "ui.max_fps": options.max_fps,
    }
