"""Starts runs as processes of their own, which outlive the app, and stops them."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kvtop.model.failure import Failure, KvtopError
from kvtop.runs.archive import cancel_run, find_run
from kvtop.runs.disk import open_regular
from kvtop.runs.layout import RunFolder
from kvtop.ui.run_log import log_tail, open_log
from kvtop.ui.scan_request import ScanRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Find = Callable[[int], RunFolder | None]

__all__ = ["ScanRequest", "StartedRun", "cancel", "resume_run", "start_scan"]

START_TIMEOUT_S = 60.0
"""Longest time until a run folder appears: the models of a server may take 15 s, the simulator 20 s."""
RUNS_DIR_VARIABLE = "KVTOP_RUNS_DIR"

_POLL_S = 0.05
_STOP_S = 2.0
_PID_BYTES = 32


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run that is going on in a process of its own, in its own session."""

    folder: RunFolder
    pid: int
    log: Path
    """What the process says on stdout and stderr."""


def start_scan(
    request: ScanRequest,
    root: Path,
    *,
    environ: Mapping[str, str] = os.environ,
    given_up: threading.Event | None = None,
    timeout_s: float = START_TIMEOUT_S,
) -> StartedRun:
    """Start `kvtop scan` and return once its run folder is there. Blocks: for a thread.

    The process writes below `root`, has no terminal, survives this one and takes its key from where its
    profile says, e.g. `environ`. Setting `given_up` ends it while it has no run folder yet. Raises
    KvtopError `run_not_started` with its own last words, `given_up`, or why there can be no log.
    """
    before = set(_names(root))

    def find(pid: int) -> RunFolder | None:
        new = (RunFolder(root / name) for name in _names(root) if name not in before)
        return next((folder for folder in new if _pid_in(folder) == pid), None)

    return _start(request.arguments(), root, find, environ, given_up or threading.Event(), timeout_s)


def resume_run(
    run_id: str,
    root: Path,
    *,
    environ: Mapping[str, str] = os.environ,
    given_up: threading.Event | None = None,
    timeout_s: float = START_TIMEOUT_S,
) -> StartedRun:
    """Start `kvtop runs resume` on a run that has ended; otherwise like `start_scan`."""
    folder = find_run(root, run_id)

    def find(pid: int) -> RunFolder | None:
        return folder if _pid_in(folder) == pid else None

    arguments = ("runs", "resume", f"{folder.path.absolute()}", "--yes")
    return _start(arguments, root, find, environ, given_up or threading.Event(), timeout_s)


def cancel(run_id: str, root: Path) -> int:
    """Ask the runner of a live run to stop, keeping its data, and return its pid.

    Raises KvtopError `no_such_run`, `not_live`, `holder_not_found`, `not_permitted`.
    """
    return cancel_run(find_run(root, run_id))


def _start(
    arguments: Sequence[str],
    root: Path,
    find: Find,
    environ: Mapping[str, str],
    given_up: threading.Event,
    timeout_s: float,
) -> StartedRun:
    log, descriptor = open_log(root)
    try:
        process = _spawn(arguments, descriptor, _environment(environ, root))
    finally:
        os.close(descriptor)
    folder = _wait(process, find, given_up, timeout_s)
    if folder is None:
        _end(process)
        raise _not_started(process, log, given_up, timeout_s)
    # Somebody has to take the exit status, or an ended runner stays a zombie as long as the app lives.
    threading.Thread(target=process.wait, name="kvtop-runner-exit", daemon=True).start()
    return StartedRun(folder, process.pid, log)


def _spawn(arguments: Sequence[str], log: int, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    # -P: a file of the user's directory must not stand in for a module of kvtop.
    command = [sys.executable, "-P", "-m", "kvtop", *arguments]
    try:
        return subprocess.Popen(  # noqa: S603 - our own module, its arguments checked by the dialog
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=dict(environ),
            start_new_session=True,
        )
    except OSError as error:
        text = f"kvtop could not be started: {error.strerror or error}."
        raise KvtopError(Failure.of("run_not_started", text)) from error


def _environment(environ: Mapping[str, str], root: Path) -> dict[str, str]:
    """Return the environment in which the child finds the same kvtop and the same runs as this process."""
    child = {**environ, RUNS_DIR_VARIABLE: str(root.absolute())}
    package_root = str(Path(__file__).parents[2])
    if package_root in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        return child
    paths = [package_root, environ.get("PYTHONPATH", "")]
    return {**child, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _wait(
    process: subprocess.Popen[bytes], find: Find, given_up: threading.Event, timeout_s: float
) -> RunFolder | None:
    """Return the run folder once its lock names the process; None when it ended, or must, without one."""
    deadline_s = time.monotonic() + timeout_s
    while not given_up.is_set() and time.monotonic() < deadline_s:
        ended = process.poll() is not None
        folder = find(process.pid)
        if folder is not None or ended:
            return folder
        given_up.wait(_POLL_S)
    return None


def _not_started(
    process: subprocess.Popen[bytes], log: Path, given_up: threading.Event, timeout_s: float
) -> KvtopError:
    if given_up.is_set():
        return KvtopError(Failure("given_up", "The run was stopped before it began; nothing was measured."))
    words = log_tail(log)
    if words.text:
        return KvtopError(Failure.of("run_not_started", words.text, words.hint or f"More in {log}"))
    text = f"The runner ended with status {process.returncode} and no word."
    if process.returncode is not None and process.returncode < 0:
        text = f"The runner did not begin within {timeout_s:.0f} s or was killed."
    return KvtopError(Failure.of("run_not_started", text, f"Its log: {log}"))


def _end(process: subprocess.Popen[bytes]) -> None:
    for insist in (process.terminate, process.kill, process.wait):
        if process.poll() is not None:
            return
        insist()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            continue


def _names(root: Path) -> Iterator[str]:
    try:
        yield from os.listdir(root)  # noqa: PTH208 - names alone are wanted
    except OSError:
        return


def _pid_in(folder: RunFolder) -> int | None:
    try:
        with open_regular(folder.run_lock) as file:
            first, newline, _ = file.read(_PID_BYTES).partition(b"\n")
    except OSError:
        return None
    return int(first) if newline and first.isdigit() else None
