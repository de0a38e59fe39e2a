"""Carrying out one experiment: lock, sampler, requests, findings, and a folder that tells all of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, replace

from kvtop.api.client import ApiClient
from kvtop.experiments.earlier import Earlier
from kvtop.experiments.outcome import Outcome
from kvtop.experiments.scan import LengthScan
from kvtop.experiments.steady import SteadyWatch
from kvtop.model.event import RunState
from kvtop.model.failure import Failure, KvtopError
from kvtop.runner.assignment import Assignment, RunResult
from kvtop.runner.earlier import read_earlier
from kvtop.runner.folder_log import FolderLog
from kvtop.runner.host import host_facts, software_versions
from kvtop.runner.sample_log import SampleLog
from kvtop.runner.stopping import Stopping
from kvtop.runner.watching import Watching
from kvtop.runs.layout import RunFolder
from kvtop.runs.lock import RunLock
from kvtop.runs.manifest import Manifest, endpoint_table, read_manifest, write_manifest
from kvtop.runs.writer import RunWriter
from kvtop.telemetry.sampler import Sample, Sampler

_READY_S = 10.0
_POLL_S = 0.02
_BUDGET_REACHED = Failure(
    "budget_reached", "The token budget ended the run.", "Resume it with a larger --max-total-tokens."
)
_NOTHING_MEASURED = Failure(
    "nothing_measured", "Nothing could be measured.", "The notes above and the run folder say why."
)


def new_manifest(assignment: Assignment, now_ts: float) -> Manifest:
    """Return what run.toml says of a run that begins now. The key is not part of it."""
    price = assignment.endpoint.price
    return Manifest(
        kind=assignment.kind,
        state="running",
        created_ts=now_ts,
        path=assignment.path,
        plan=assignment.plan.to_json(),
        endpoint=endpoint_table(assignment.endpoint),
        demo=assignment.demo,
        host=host_facts(),
        versions=software_versions(),
        clock={"wall_ts": now_ts, "monotonic_s": time.monotonic()},
        context={"price": asdict(price)} if price else {},
    )


def run(
    assignment: Assignment, folder: RunFolder, *, on_locked: Callable[[], None] | None = None
) -> RunResult:
    """Carry out `assignment` in `folder`, which may hold earlier sessions of the same run.

    `on_locked` is called once the folder is ours and the run is announced, so that a follower can start.
    Raises KvtopError when the folder cannot be locked or written at the start; what happens later is in
    the result. Runs in the main thread, whose signals it holds meanwhile (see `Stopping`).
    """
    with Stopping() as stopping, RunLock.hold(folder):
        resumed = folder.run_toml.exists()
        manifest, earlier = _begin(assignment, folder, resumed=resumed)
        writer = RunWriter(folder, resume=resumed)
        try:
            samples = SampleLog(writer)
            log = FolderLog(folder, manifest, writer, samples, assignment.analyse)
            # The first analysis also loads what the later ones need, before anything is timed.
            log.analyse()
            log.started(len(assignment.plan.cells()))
            if on_locked is not None:
                on_locked()
            result = asyncio.run(_carry_out(assignment, folder, log, samples, earlier, stopping))
        except BaseException:
            _closed(writer)
            raise
        unwritten = _closed(writer)
        return replace(result, failure=result.failure or unwritten)


def _begin(assignment: Assignment, folder: RunFolder, *, resumed: bool) -> tuple[Manifest, Earlier]:
    if not resumed:
        manifest, earlier = new_manifest(assignment, time.time()), Earlier()
    else:
        manifest = read_manifest(folder)
        earlier = read_earlier(folder, manifest)
        manifest = replace(manifest, state="running", ended_ts=None, plan=assignment.plan.to_json())
    write_manifest(folder, manifest)
    return manifest, earlier


def _closed(writer: RunWriter) -> Failure | None:
    try:
        writer.close()
    except KvtopError as error:
        return error.failure
    return None


async def _carry_out(
    assignment: Assignment,
    folder: RunFolder,
    log: FolderLog,
    samples: SampleLog,
    earlier: Earlier,
    stopping: Stopping,
) -> RunResult:
    steady = SteadyWatch()
    samples.start()
    sampler = _sampler(assignment, samples, steady)
    try:
        stopping.watch()
        outcome = await _measure(assignment, log, sampler, steady, earlier)
        stopping.let_go()
        state, failure = _verdict(outcome, log)
    except asyncio.CancelledError:
        state, failure = "cancelled", Failure("cancelled", "Stopped; what was measured is kept.")
    except KvtopError as error:
        state, failure = "failed", error.failure
    finally:
        stopping.let_go()
        if sampler is not None:
            sampler.stop()
        samples.close()
    return _close(folder, log, state, failure or samples.failure)


def _sampler(assignment: Assignment, samples: SampleLog, steady: SteadyWatch) -> Sampler | None:
    if assignment.source is None:
        return None

    def sink(sample: Sample) -> None:
        samples.put(sample)
        steady.feed(sample)

    return Sampler(
        assignment.source, sink, interval_s=assignment.plan.interval_s, engine_pid=assignment.engine_pid
    )


async def _measure(
    assignment: Assignment, log: FolderLog, sampler: Sampler | None, steady: SteadyWatch, earlier: Earlier
) -> Outcome:
    watching = Watching(assignment, log)
    watched = sampler is not None and await _start(sampler, engine_pid=assignment.engine_pid)
    watching.tell(sampler.status() if sampler is not None else None)
    async with ApiClient(assignment.endpoint, timeout_s=assignment.plan.timeout_s) as client:
        scan = LengthScan(assignment.plan, client, log, steady=steady if watched else None, earlier=earlier)
        outcome = await scan.run()
    if watched and sampler is not None:
        watching.tell_failures(sampler.status())
    return outcome


async def _start(sampler: Sampler, *, engine_pid: int | None) -> bool:
    """Start the sampler. False when neither a GPU nor a process can be read."""
    sampler.start()
    deadline_s = time.monotonic() + _READY_S
    while (status := sampler.status()).last_ts is None and status.state in ("opening", "running"):
        if time.monotonic() > deadline_s:
            break
        await asyncio.sleep(_POLL_S)
    return sampler.status().failure is None or engine_pid is not None


def _verdict(outcome: Outcome, log: FolderLog) -> tuple[RunState, Failure | None]:
    if outcome.end == "refused":
        return "failed", outcome.failure
    log.analyse()
    points = log.document["points"]
    if outcome.end == "budget":
        return "cancelled", _BUDGET_REACHED
    if not any(point["n"] for point in points):
        return "failed", _NOTHING_MEASURED
    return ("failed", None) if any(point["failed"] for point in points) else ("done", None)


def _close(folder: RunFolder, log: FolderLog, state: RunState, failure: Failure | None) -> RunResult:
    if failure is not None and state == "done":
        state = "failed"
    unwritten = log.finished(state, str(failure) if failure else "")
    return RunResult(folder, state, log.document, failure or unwritten)
