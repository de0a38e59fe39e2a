"""Running a scan in this process while telling its events on stderr."""

from __future__ import annotations

import threading
from collections.abc import Callable

from kvtop.analysis import tables
from kvtop.cli.narration import narrate
from kvtop.cli.streams import say
from kvtop.model.failure import KvtopError
from kvtop.runner.assignment import Assignment, RunResult
from kvtop.runner.runner import run
from kvtop.runs.follow import follow
from kvtop.runs.layout import RunFolder


def run_in_front(assignment: Assignment, folder: RunFolder, *, skip_events: int = 0) -> RunResult:
    """Carry out `assignment` here. What is told comes from the run folder, as for any other follower.

    The first `skip_events` events belong to earlier sessions and are not told again.
    """
    if assignment.path == "local":
        tables.load()
    follower = threading.Thread(target=_tell, args=(folder, skip_events), name="kvtop-narration", daemon=True)
    result = run(assignment, folder, on_locked=follower.start)
    if follower.is_alive():
        follower.join(timeout=2.0)
    return result


def _tell(folder: RunFolder, skip_events: int, line: Callable[[str], None] = say) -> None:
    try:
        for index, event in enumerate(follow(folder)):
            text = narrate(event) if index >= skip_events else None
            if text is not None:
                line(text)
    except KvtopError as error:
        line(f"The run goes on untold: {error.failure.text}")
