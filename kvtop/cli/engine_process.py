"""The engine's process as a user names it."""

from __future__ import annotations

from kvtop.model.failure import KvtopError
from kvtop.telemetry.processes import ProcessTree


def require_process(pid: int | None) -> None:
    """Raise KvtopError `engine_gone` where `pid`, given by --pid, is no process of this host."""
    if pid is None:
        return
    failure = ProcessTree(pid).failure
    if failure is not None:
        raise KvtopError(failure)
