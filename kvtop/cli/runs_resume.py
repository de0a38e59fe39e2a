"""`kvtop runs resume`: what is missing of a run."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kvtop.cli.before_sending import listed, refuse_small_budget, what_fits
from kvtop.cli.bench import Bench, real, simulated
from kvtop.cli.consent import ask_before_spending
from kvtop.cli.ending import end_run
from kvtop.cli.endpoint_again import endpoint_again
from kvtop.cli.engine_process import require_process
from kvtop.cli.kept_plan import kept_plan
from kvtop.cli.run_in_front import run_in_front
from kvtop.cli.runs_show import root_of, show_run
from kvtop.cli.scan import assign
from kvtop.cli.streams import say
from kvtop.cli.target import target_of
from kvtop.experiments.earlier import Earlier
from kvtop.model.estimate import estimate_scan
from kvtop.model.plan import ScanCell, ScanPlan
from kvtop.runner.earlier import read_earlier
from kvtop.runs.archive import find_run
from kvtop.runs.layout import RunFolder
from kvtop.runs.lock import RunLock
from kvtop.runs.manifest import Manifest, read_manifest
from kvtop.runs.reader import read_events


def resume_run(options: argparse.Namespace) -> int:
    """Measure what is missing, print, and return the exit code. Raises KvtopError where nothing can go on."""
    require_process(options.pid)
    folder = find_run(root_of(options), options.run)
    manifest = read_manifest(folder)
    plan = _changed(kept_plan(folder, manifest), options)
    with RunLock.hold(folder):
        earlier = read_earlier(folder, manifest)
    missing = [cell for cell in plan.cells() if cell.id not in earlier.finished_cells]
    to_send = [cell for cell in missing if cell.target_tokens not in earlier.ended_lengths]
    if not to_send:
        _say_nothing_to_send(folder, missing)
        return show_run(options)
    calibrated = earlier.calibration is not None
    refuse_small_budget(plan, to_send[0], calibrated=calibrated, spent_tokens=earlier.spent_tokens)
    with _bench_again(manifest, options.pid) as bench:
        return _go_on(bench, folder, plan, earlier, options)


def _changed(plan: ScanPlan, options: argparse.Namespace) -> ScanPlan:
    """Return the kept plan with what the flags of this session change."""
    if options.max_total_tokens is not None:
        plan = replace(plan, max_total_tokens=options.max_total_tokens)
    return plan if options.timeout is None else replace(plan, timeout_s=options.timeout)


def _say_nothing_to_send(folder: RunFolder, missing: Sequence[ScanCell]) -> None:
    if not missing:
        say(f"Nothing is missing in {folder.id}.")
        return
    lengths = listed(sorted({cell.target_tokens for cell in missing}))
    say(f"Nothing is missing in {folder.id} that this server can take: {lengths} do not fit.")
    say("  → With a larger context on the server, start a new scan.")


@contextlib.contextmanager
def _bench_again(manifest: Manifest, pid: int | None) -> Iterator[Bench]:
    if manifest.demo is not None:
        with simulated(manifest.demo) as bench:
            yield bench
        return
    yield real(target_of(endpoint_again(manifest, os.environ), pid))


def _go_on(
    bench: Bench, folder: RunFolder, plan: ScanPlan, earlier: Earlier, options: argparse.Namespace
) -> int:
    target = bench.target
    lengths = tuple(length for length in plan.lengths if length not in earlier.ended_lengths)
    fitting = what_fits(replace(plan, lengths=lengths), target.endpoint)
    estimate = estimate_scan(
        fitting,
        local=target.path == "local",
        price=target.endpoint.price,
        finished_cells=earlier.finished_cells,
        calibrated=earlier.calibration is not None,
    )
    ask_before_spending(estimate, costs=target.path == "api", agreed=options.yes)
    told = len(read_events(folder).events)
    result = run_in_front(assign(plan, bench), folder, skip_events=told)
    return end_run(result, as_json=options.json)
