"""Running a scan in this process while telling its events on stderr."""

from __future__ import annotations

import sys
import threading
import time

from kvtop.analysis import tables
from kvtop.cli.careful_analysis import NO_POLARS
from kvtop.cli.narration import Narrator
from kvtop.cli.progress_words import ProgressWords
from kvtop.cli.status_line import StatusLine
from kvtop.cli.streams import say, say_warning
from kvtop.cli.wrapping import note_width
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
        _load_tables()
    follower = threading.Thread(target=_tell, args=(folder, skip_events), name="kvtop-narration", daemon=True)
    result = run(assignment, folder, on_locked=follower.start)
    if follower.is_alive():
        follower.join(timeout=2.0)
    return result


def _load_tables() -> None:
    try:
        tables.load()
    except ImportError:
        say_warning(NO_POLARS)


def _tell(folder: RunFolder, skip_events: int) -> None:
    narrator, words, status = Narrator(note_width(sys.stderr)), ProgressWords(), StatusLine()

    def wait(seconds: float) -> None:
        status.show(words.line(time.time()))
        time.sleep(seconds)

    try:
        for index, event in enumerate(follow(folder, wait=wait)):
            if index < skip_events:
                continue
            words.take(event)
            text = narrator.tell(event)
            if text is not None:
                status.erase()
                say(text)
    except KvtopError as error:
        say(f"The run goes on untold: {error.failure.text}")
    finally:
        status.erase()
