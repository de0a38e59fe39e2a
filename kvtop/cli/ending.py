"""The last words of a run and its exit code."""

from __future__ import annotations

import sys
from pathlib import Path

from kvtop.cli import exit_codes
from kvtop.cli.scan_report import report
from kvtop.cli.streams import say, say_failure, show, show_json
from kvtop.cli.told_of_run import what_was_read
from kvtop.cli.wrapping import note_width, wrapped
from kvtop.runner.assignment import RunResult


def end_run(result: RunResult, *, as_json: bool) -> int:
    """Print document or report, say where the data is, return the exit code."""
    if as_json:
        show_json(result.document)
    else:
        show(report(result.document, what_was_read(result.folder)))
    say_path("run folder:", result.folder.path)
    if result.failure is not None:
        say_failure(result.failure)
    if result.state == "cancelled":
        say(f"  Finish it with: kvtop runs resume {result.folder.id}")
    return _exit_code(result)


def say_path(words: str, path: Path) -> None:
    """Print a path on stderr, on a terminal broken after slashes where it is too long."""
    for line in wrapped(f"{words} {path}", note_width(sys.stderr), rest="    "):
        say(line)


def _exit_code(result: RunResult) -> int:
    if result.failure is not None:
        return exit_codes.of_run_failure(result.failure)
    return exit_codes.DONE if result.state == "done" else exit_codes.MEASURED_WITH_FAILURES
