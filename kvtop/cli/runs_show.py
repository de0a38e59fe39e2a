"""`kvtop runs show`: what a run found."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from kvtop.analysis.scan import SCHEMA
from kvtop.cli import exit_codes
from kvtop.cli.careful_analysis import analyse_carefully, is_partial
from kvtop.cli.scan_report import report
from kvtop.cli.streams import say_failure, show, show_json
from kvtop.cli.told_of_run import what_was_read
from kvtop.model.event import RunState
from kvtop.model.failure import KvtopError
from kvtop.runs.archive import effective_state, find_run
from kvtop.runs.layout import RunFolder
from kvtop.runs.lock import RunLock
from kvtop.runs.reader import read_findings
from kvtop.runs.writer import write_findings
from kvtop.settings.config import load_settings


def root_of(options: argparse.Namespace) -> Path:
    """Return the folder of all runs. Raises KvtopError for wrong settings."""
    return load_settings(os.environ, {"runs.dir": options.runs_dir}).runs.dir


def show_run(options: argparse.Namespace) -> int:
    """Print the report or document of a run and return the exit code. Raises KvtopError without one."""
    folder = find_run(root_of(options), options.run)
    state = effective_state(folder)
    document = None if options.recompute else _kept_document(folder)
    if document is None:
        document = analyse_carefully(folder, state)
    if options.recompute and state != "running" and not is_partial(document):
        _keep(folder, document)
    document = {**document, "state": state}
    if options.json:
        show_json(document)
    else:
        show(_report(folder, state, document))
    return exit_codes.DONE


def _report(folder: RunFolder, state: RunState, document: dict[str, Any]) -> str:
    """Return the report; a kept document of another shape is built anew from the rows."""
    read = what_was_read(folder)
    try:
        return report(document, read)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return report({**analyse_carefully(folder, state), "state": state}, read)


def _kept_document(folder: RunFolder) -> dict[str, Any] | None:
    document = read_findings(folder)
    return document if document is not None and document.get("schema") == SCHEMA else None


def _keep(folder: RunFolder, document: dict[str, Any]) -> None:
    """Write findings.json. One that cannot be written is said, and shown all the same."""
    try:
        with RunLock.hold(folder):
            write_findings(folder, document)
    except KvtopError as error:
        say_failure(error.failure)
