"""Whether a run is going on, how it ended, and stopping it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from kvtop.model.event import Event, RunState
from kvtop.model.failure import Failure, KvtopError
from kvtop.runs.disk import open_regular
from kvtop.runs.layout import RunFolder
from kvtop.runs.lock import holder_pid, is_held
from kvtop.runs.reader import parse_event

_ENDED: dict[str, RunState] = {"done": "done", "failed": "failed", "cancelled": "cancelled"}
_TAIL_BYTES = 1 << 16
_PROC = Path("/proc")


def effective_state(folder: RunFolder) -> RunState:
    """Return `running` while the lock is held, else the state that the last `finished` event tells,
    else `interrupted`, whatever `run.toml` says."""
    if is_held(folder):
        return "running"
    last = _last_milestone(folder.events_jsonl)
    if last is None or last.type != "finished":
        return "interrupted"
    return _ENDED.get(str(last.data.get("state")), "interrupted")


def cancel_run(folder: RunFolder) -> int:
    """Send SIGTERM to the process that holds the run's lock, and return its pid.

    Raises KvtopError: `not_live`, `holder_not_found` when the pid in the lock file is not a process
    here that has the file open, `not_permitted`.
    """
    pid = holder_pid(folder)
    if pid is None:
        raise _not_live(folder)
    if not _has_open(pid, folder.run_lock):
        text = f"Run {folder.id} is live, but its process {pid} is not found on this host."
        raise KvtopError(
            Failure.of("holder_not_found", text, "Cancel it in the container or host it runs in.")
        )
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        raise _not_live(folder) from None
    except PermissionError:
        text = f"Process {pid} of run {folder.id} belongs to another user."
        raise KvtopError(Failure.of("not_permitted", text, "Cancel it as that user.")) from None
    return pid


def _not_live(folder: RunFolder) -> KvtopError:
    return KvtopError(
        Failure.of("not_live", f"Run {folder.id} is not going on.", "`kvtop runs list` shows the live ones.")
    )


def _has_open(pid: int, path: Path) -> bool:
    # A pid left by a dead runner may belong to another program by now.
    if not _PROC.joinpath("self").exists():
        return True
    try:
        return any(_same_file(entry, path) for entry in _PROC.joinpath(str(pid), "fd").iterdir())
    except PermissionError:
        return True
    except OSError:
        return False


def _same_file(entry: Path, path: Path) -> bool:
    try:
        return entry.samefile(path)
    except OSError:
        return False


def _last_milestone(path: Path) -> Event | None:
    for line in reversed(_tail(path).split(b"\n")[:-1]):
        if b'"started"' not in line and b'"finished"' not in line:
            continue
        try:
            event = parse_event(line)
        except ValueError:
            continue
        if event.type in ("started", "finished"):
            return event
    return None


def _tail(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - _TAIL_BYTES, 0))
            return file.read()
    except OSError:
        return b""
