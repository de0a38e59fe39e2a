"""Starting the simulator as a child process, and ending it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from kvtop.model.failure import Failure, KvtopError
from kvtop.simulator.options import EngineKind

START_TIMEOUT_S = 20.0
_STOP_TIMEOUT_S = 2.0
_HINT = "run `python -m kvtop.simulator` by hand to see what it says"


@dataclass(frozen=True, slots=True)
class SimulatorProcess:
    """A running simulator. It ends with `stop`, with the block it is used in, or with this process."""

    base_url: str
    """Without a path, e.g. `http://127.0.0.1:40123`."""
    pid: int
    model: str
    _process: subprocess.Popen[bytes]

    @property
    def is_running(self) -> bool:
        """Whether the process is still there."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End the process; calling it again does nothing."""
        _end(self._process)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def start_simulator(engine: EngineKind = "growing", **options: float) -> SimulatorProcess:
    """Start a simulator and return when it listens. `options` are those of `SimulatorOptions`.

    Raises KvtopError with code `simulator_failed` when it does not start.
    """
    with tempfile.TemporaryFile() as errors:
        process = _spawn(engine, options, errors)
        try:
            announced = _announcement(process)
        except BaseException:
            _end(process)
            raise
        if announced is None:
            _end(process)
            raise _failed(_last_line(errors))
    return SimulatorProcess(announced["base_url"], announced["pid"], announced["model"], process)


def _spawn(engine: str, options: dict[str, float], errors: IO[bytes]) -> subprocess.Popen[bytes]:
    # -P: a file of the user's directory must not stand in for a module of the simulator.
    command = [sys.executable, "-P", "-m", "kvtop.simulator", "--engine", engine]
    for name, value in options.items():
        command += [f"--{name.replace('_', '-')}", str(value)]
    try:
        return subprocess.Popen(  # noqa: S603 - our own module with typed options
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=_environment(),
        )
    except OSError as error:
        raise _failed(str(error)) from error


def _environment() -> dict[str, str]:
    """Return the environment in which the child finds the same kvtop as this process."""
    root = str(Path(__file__).parents[2])
    if root in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        return dict(os.environ)
    paths = [root, os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _announcement(process: subprocess.Popen[bytes]) -> dict[str, Any] | None:
    line = _first_line(process)
    if line is None:
        return None
    announced: dict[str, Any] = json.loads(line)
    return announced


def _first_line(process: subprocess.Popen[bytes]) -> bytes | None:
    if process.stdout is None:
        return None
    descriptor = process.stdout.fileno()
    deadline = time.monotonic() + START_TIMEOUT_S
    line = b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([descriptor], [], [], max(deadline - time.monotonic(), 0))
        chunk = os.read(descriptor, 4096) if ready else b""
        if not chunk:
            return None
        line += chunk
    return line


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"it did not answer within {START_TIMEOUT_S:.0f} s"


def _failed(reason: str) -> KvtopError:
    return KvtopError(Failure.of("simulator_failed", f"The simulator did not start: {reason}", _HINT))


def _end(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    for insist in (process.terminate, process.kill, lambda: None):
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            insist()
