"""Carrying out one experiment: lock, sampler, requests, findings, and a folder that tells all of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, replace

from kvtop.api.client import ApiClient
from kvtop.experiments.outcome import Outcome
from kvtop.experiments.scan import Earlier, LengthScan
from kvtop.experiments.steady import SteadyWatch
from kvtop.model.event import RunState
from kvtop.model.failure import Failure, KvtopError
from kvtop.runner.assignment import Assignment, RunResult
from kvtop.runner.earlier import read_earlier
from kvtop.runner.folder_log import FolderLog
from kvtop.runner.host import host_facts, software_versions
from kvtop.runner.sample_log import SampleLog
from kvtop.runner.stopping import stop_on_signal
from kvtop.runs.layout import RunFolder
from kvtop.runs.lock import RunLock
from kvtop.runs.manifest import Manifest, endpoint_table, read_manifest, write_manifest
from kvtop.runs.writer import RunWriter
from kvtop.telemetry.sampler import Sample, Sampler

_READY_S = 10.0


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

    `on_locked` is called once the folder is ours and its manifest is there, so that a follower can start.
    Raises KvtopError when the folder cannot be locked or written at the start; what happens later is in
    the result.
    """
    resumed = folder.run_toml.exists()
    with RunLock.hold(folder):
        manifest = read_manifest(folder) if resumed else new_manifest(assignment, time.time())
        earlier = read_earlier(folder, manifest) if resumed else Earlier()
        manifest = replace(manifest, state="running", ended_ts=None)
        write_manifest(folder, manifest)
        writer = RunWriter(folder, resume=resumed)
        try:
            samples = SampleLog(writer)
            log = FolderLog(folder, manifest, writer, samples, assignment.analyse)
            samples.start()
            # The first analysis also loads what the later ones need, before anything is timed.
            log.analyse()
            log.started(len(assignment.plan.cells()))
            if on_locked is not None:
                on_locked()
            return asyncio.run(_carry_out(assignment, folder, log, samples, earlier))
        finally:
            writer.close()


async def _carry_out(
    assignment: Assignment, folder: RunFolder, log: FolderLog, samples: SampleLog, earlier: Earlier
) -> RunResult:
    steady = SteadyWatch()
    sampler = _sampler(assignment, samples, steady)
    try:
        with stop_on_signal(asyncio.current_task()):
            outcome = await _measure(assignment, log, sampler, steady, earlier)
        state, failure = _verdict(outcome, log)
    except asyncio.CancelledError:
        state, failure = "cancelled", Failure("cancelled", "Stopped; what was measured is kept.")
    except KvtopError as error:
        state, failure = "failed", error.failure
    finally:
        if sampler is not None:
            sampler.stop()
        samples.close()
    return _close(folder, log, state, failure)


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
    watched = sampler is not None and await _start(sampler, log, engine_pid=assignment.engine_pid)
    async with ApiClient(assignment.endpoint, timeout_s=assignment.plan.timeout_s) as client:
        scan = LengthScan(assignment.plan, client, log, steady=steady if watched else None, earlier=earlier)
        return await scan.run()


async def _start(sampler: Sampler, log: FolderLog, *, engine_pid: int | None) -> bool:
    """Start the sampler. False when neither a GPU nor a process can be read, which is noted."""
    sampler.start()
    await asyncio.to_thread(sampler.wait_ready, _READY_S)
    failure = sampler.status().failure
    if failure is not None:
        log.note(failure.code, str(failure))
    return failure is None or engine_pid is not None


def _verdict(outcome: Outcome, log: FolderLog) -> tuple[RunState, Failure | None]:
    if outcome.end == "refused":
        return "failed", outcome.failure
    log.analyse()
    failed = sum(point["failed"] for point in log.document["points"])
    if outcome.end == "budget":
        return "cancelled", Failure(
            "budget_reached", "The token budget ended the run.", "Raise --max-total-tokens."
        )
    return ("failed", None) if failed else ("done", None)


def _close(folder: RunFolder, log: FolderLog, state: RunState, failure: Failure | None) -> RunResult:
    try:
        log.finished(state, str(failure) if failure else "")
    except KvtopError as error:
        failure = failure or error.failure
    return RunResult(folder, state, log.document, failure)
