"""`kvtop runs`: the archive."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from kvtop.cli import arguments as arg
from kvtop.cli import exit_codes
from kvtop.cli.narration import Narrator
from kvtop.cli.run_table import run_table
from kvtop.cli.runs_resume import resume_run
from kvtop.cli.runs_show import root_of, show_run
from kvtop.cli.streams import say, show, show_json, show_json_line
from kvtop.cli.wrapping import note_width
from kvtop.model.event import Event
from kvtop.runs.archive import cancel_run, find_run, list_runs
from kvtop.runs.follow import follow

_RUN_HELP = "a run's id, a piece of it that no other has, a path, or `latest`, the default"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `kvtop runs`."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _action(actions, "list", "all runs, newest first", _list, named=False)
    show_parser = _action(actions, "show", "findings, curves, table and slope of a run", show_run)
    show_parser.add_argument(
        "--recompute", action="store_true", help="rebuild findings.json from the raw rows"
    )
    _action(actions, "follow", "tell a run's events, from its start and then live", _follow)
    _action(actions, "cancel", "stop a live run; what it measured is kept", _cancel)
    resume = _action(actions, "resume", "measure what is missing", resume_run)
    resume.add_argument(
        "--pid", type=arg.at_least_one, metavar="PID", help="the engine's process, if it has changed"
    )
    resume.add_argument(
        "--max-total-tokens", type=arg.tokens, metavar="N", help="another budget for the whole run"
    )
    resume.add_argument("--timeout", type=arg.duration, metavar="300s", help="longest time for one request")
    resume.add_argument("--yes", action="store_true", help="do not ask before tokens are spent")
    resume.set_defaults(recompute=False)


def _action(
    actions: Any, name: str, summary: str, execute: Callable[[argparse.Namespace], int], *, named: bool = True
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=summary, description=arg.sentence(summary)
    )
    if named:
        parser.add_argument("run", metavar="RUN", nargs="?", default="latest", help=_RUN_HELP)
    arg.add_runs_dir(parser)
    parser.add_argument("--json", action="store_true", help="JSON on stdout")
    parser.set_defaults(execute=execute)
    return parser


def _list(options: argparse.Namespace) -> int:
    summaries = list_runs(root_of(options))
    if options.json:
        show_json({"schema": "kvtop.runs.list/1", "runs": [summary.to_json() for summary in summaries]})
    elif summaries:
        show(run_table(summaries))
    else:
        say(f"No runs in {root_of(options)}. Start one with: kvtop scan, or kvtop --demo")
    return exit_codes.DONE


def _follow(options: argparse.Namespace) -> int:
    folder = find_run(root_of(options), options.run)
    state = "interrupted"
    narrator = Narrator(note_width(sys.stdout))
    for event in follow(folder):
        _tell(event, narrator, as_json=options.json)
        if event.type == "finished":
            state = str(event.data.get("state"))
    return exit_codes.DONE if state == "done" else exit_codes.MEASURED_WITH_FAILURES


def _tell(event: Event, narrator: Narrator, *, as_json: bool) -> None:
    if as_json:
        show_json_line(event.to_json())
    elif (text := narrator.tell(event)) is not None:
        show(text)


def _cancel(options: argparse.Namespace) -> int:
    folder = find_run(root_of(options), options.run)
    pid = cancel_run(folder)
    if options.json:
        show_json({"schema": "kvtop.runs.cancel/1", "run": folder.id, "pid": pid})
    else:
        say(f"Asked the runner of {folder.id} (pid {pid}) to stop. What it measured is kept.")
    return exit_codes.DONE
