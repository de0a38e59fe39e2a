"""What the exit code of a command means. A contract: scripts depend on it."""

from __future__ import annotations

from kvtop.model.failure import Failure, KvtopError

DONE = 0
MEASURED_WITH_FAILURES = 1
WRONG_USE = 2
"""Wrong arguments, settings or files; nothing was sent."""
ENDPOINT_UNUSABLE = 3
"""The provider refused or could not be reached."""
INTERRUPTED = 130
"""Stopped by the user; what was measured is kept."""


class EndpointError(KvtopError):
    """The endpoint refused or could not be reached before a run began."""


_WRONG_SETTINGS = frozenset({"bad_url", "bad_header", "bad_dialect"})
_OF_OURS = frozenset({"budget_reached", "disk_full", "write_failed", "nothing_measured"})


def of_run_failure(failure: Failure) -> int:
    """Return the exit code of a run that `failure` ended."""
    if failure.code == "cancelled":
        return INTERRUPTED
    if failure.code in _WRONG_SETTINGS:
        return WRONG_USE
    return MEASURED_WITH_FAILURES if failure.code in _OF_OURS else ENDPOINT_UNUSABLE
