"""`kvtop runs`: the archive."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from kvtop.analysis.scan import SCHEMA
from kvtop.cli import arguments as arg
from kvtop.cli import exit_codes
from kvtop.cli.bench import Bench, real, simulated
from kvtop.cli.consent import ask_before_spending
from kvtop.cli.ending import end_run
from kvtop.cli.endpoint_again import endpoint_again
from kvtop.cli.kept_plan import kept_plan
from kvtop.cli.narration import narrate
from kvtop.cli.run_in_front import run_in_front
from kvtop.cli.run_table import run_table
from kvtop.cli.scan import assign
from kvtop.cli.scan_analysis import analyse_folder
from kvtop.cli.scan_report import report
from kvtop.cli.streams import say, say_failure, show, show_json, show_json_line
from kvtop.cli.target import target_of
from kvtop.model.estimate import estimate_scan
from kvtop.model.event import Event
from kvtop.model.failure import KvtopError
from kvtop.model.plan import ScanPlan
from kvtop.runner.earlier import read_earlier
from kvtop.runs.archive import cancel_run, effective_state, find_run, list_runs
from kvtop.runs.follow import follow
from kvtop.runs.layout import RunFolder
from kvtop.runs.lock import RunLock
from kvtop.runs.manifest import Manifest, read_manifest
from kvtop.runs.reader import read_events, read_findings
from kvtop.runs.writer import write_findings
from kvtop.settings.config import load_settings

_RUN_HELP = "a run's id, a piece of it that no other has, `latest`, or a path"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `kvtop runs`."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _action(actions, "list", "all runs, newest first", _list, named=False)
    show_parser = _action(actions, "show", "table, slope, findings and curves of a run", _show)
    show_parser.add_argument(
        "--recompute", action="store_true", help="rebuild findings.json from the raw rows"
    )
    _action(actions, "follow", "tell a run's events, from its start and then live", _follow)
    _action(actions, "cancel", "stop a live run; what it measured is kept", _cancel)
    resume = _action(actions, "resume", "measure what is missing", _resume)
    resume.add_argument("--pid", type=arg.at_least_one, help="the engine's process, if it has changed")
    resume.add_argument(
        "--max-total-tokens", type=arg.tokens, metavar="N", help="another budget for the whole run"
    )
    resume.add_argument("--yes", action="store_true", help="do not ask before tokens are spent")
    resume.set_defaults(recompute=False)


def _action(
    actions: Any, name: str, summary: str, execute: Callable[[argparse.Namespace], int], *, named: bool = True
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=summary, description=summary.capitalize() + "."
    )
    if named:
        parser.add_argument("run", metavar="RUN", nargs="?", default="latest", help=_RUN_HELP)
    arg.add_runs_dir(parser)
    parser.add_argument("--json", action="store_true", help="JSON on stdout")
    parser.set_defaults(execute=execute)
    return parser


def _root(options: argparse.Namespace) -> Path:
    return load_settings(os.environ, {"runs.dir": options.runs_dir}).runs.dir


def _list(options: argparse.Namespace) -> int:
    summaries = list_runs(_root(options))
    if options.json:
        show_json({"schema": "kvtop.runs.list/1", "runs": [summary.to_json() for summary in summaries]})
    elif summaries:
        show(run_table(summaries))
    else:
        say(f"No runs in {_root(options)}. Start one with: kvtop scan, or kvtop --demo")
    return exit_codes.DONE


def _show(options: argparse.Namespace) -> int:
    folder = find_run(_root(options), options.run)
    state = effective_state(folder)
    document = None if options.recompute else _kept_document(folder)
    if document is None:
        document = analyse_folder(folder, state)
    if options.recompute and state != "running":
        _keep(folder, document)
    document = {**document, "state": state}
    if options.json:
        show_json(document)
    else:
        show(report(document))
    return exit_codes.DONE


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


def _follow(options: argparse.Namespace) -> int:
    folder = find_run(_root(options), options.run)
    state = "interrupted"
    for event in follow(folder):
        _tell(event, as_json=options.json)
        if event.type == "finished":
            state = str(event.data.get("state"))
    return exit_codes.DONE if state == "done" else exit_codes.MEASURED_WITH_FAILURES


def _tell(event: Event, *, as_json: bool) -> None:
    if as_json:
        show_json_line(event.to_json())
    elif (text := narrate(event)) is not None:
        show(text)


def _cancel(options: argparse.Namespace) -> int:
    folder = find_run(_root(options), options.run)
    pid = cancel_run(folder)
    if options.json:
        show_json({"schema": "kvtop.runs.cancel/1", "run": folder.id, "pid": pid})
    else:
        say(f"Asked the runner of {folder.id} (pid {pid}) to stop. What it measured is kept.")
    return exit_codes.DONE


def _resume(options: argparse.Namespace) -> int:
    folder = find_run(_root(options), options.run)
    manifest = read_manifest(folder)
    plan = kept_plan(folder, manifest)
    if options.max_total_tokens is not None:
        plan = replace(plan, max_total_tokens=options.max_total_tokens)
    with RunLock.hold(folder):
        missing = _is_missing_something(folder, manifest, plan)
    if missing:
        with _bench_again(manifest, options.pid) as bench:
            return _go_on(bench, folder, manifest, plan, options)
    say(f"Nothing is missing in {folder.id}.")
    return _show(options)


def _is_missing_something(folder: RunFolder, manifest: Manifest, plan: ScanPlan) -> bool:
    earlier = read_earlier(folder, manifest)
    return any(
        cell.id not in earlier.finished_cells and cell.target_tokens not in earlier.ended_lengths
        for cell in plan.cells()
    )


@contextlib.contextmanager
def _bench_again(manifest: Manifest, pid: int | None) -> Iterator[Bench]:
    if manifest.demo is not None:
        with simulated(manifest.demo) as bench:
            yield bench
        return
    yield real(target_of(endpoint_again(manifest, os.environ), pid))


def _go_on(
    bench: Bench, folder: RunFolder, manifest: Manifest, plan: ScanPlan, options: argparse.Namespace
) -> int:
    earlier = read_earlier(folder, manifest)
    target = bench.target
    estimate = estimate_scan(
        plan,
        local=target.path == "local",
        price=target.endpoint.price,
        finished_cells=earlier.finished_cells,
    )
    ask_before_spending(estimate, costs=target.path == "api", agreed=options.yes)
    told = len(read_events(folder).events)
    result = run_in_front(assign(plan, bench), folder, skip_events=told)
    return end_run(result, as_json=options.json)
