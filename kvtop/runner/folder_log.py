"""The experiment's log, written into the run folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from kvtop.model.event import Event, EventType, RunState
from kvtop.model.failure import Failure, KvtopError
from kvtop.model.record import RequestRecord
from kvtop.runner.assignment import Analyse
from kvtop.runner.sample_log import SampleLog
from kvtop.runs.layout import RunFolder
from kvtop.runs.manifest import Manifest, write_manifest
from kvtop.runs.writer import RunWriter


class FolderLog:
    """Implements `kvtop.experiments.log.ExperimentLog` on a run folder.

    Every method but `finished` raises `KvtopError` when the folder can no longer be written.
    """

    def __init__(
        self, folder: RunFolder, manifest: Manifest, writer: RunWriter, samples: SampleLog, analyse: Analyse
    ) -> None:
        self._folder = folder
        self._writer = writer
        self._samples = samples
        self._analyse = analyse
        self.manifest = manifest
        self.document: Mapping[str, Any] = {}

    def cell(self, cell: str, **data: Any) -> None:
        """Announce a request."""
        self._event("cell", cell=cell, **data)

    def request(self, record: RequestRecord) -> None:
        """Keep a finished request and tell followers."""
        self._writer.request(record)
        self._event(
            "request",
            id=record.id,
            cell=record.cell,
            tag=record.tag,
            target_tokens=record.target_tokens,
            prompt_tokens=record.prompt_tokens,
            cached_tokens=record.cached_tokens,
            completion_tokens=record.completion_tokens,
            ttft_s=record.ttft_s,
            latency_s=record.latency_s,
            decode_tok_s=record.decode_tok_s,
            failure=record.failure.to_json() if record.failure else None,
        )

    def note(self, code: str, text: str, **data: Any) -> None:
        """Keep a remark."""
        self._event("note", code=code, text=text, **data)

    def progress(
        self, done: int, total: int, elapsed_s: float, left_s: float | None, spent_tokens: int
    ) -> None:
        """Tell how far the run is."""
        self._event(
            "progress", done=done, total=total, elapsed_s=elapsed_s, left_s=left_s, spent_tokens=spent_tokens
        )

    def remember(self, **context: Any) -> None:
        """Keep values in run.toml for a resumed run."""
        known = {key: value for key, value in context.items() if value is not None}
        self.manifest = replace(self.manifest, context={**self.manifest.context, **known})
        write_manifest(self._folder, self.manifest)

    def analyse(self, state: RunState = "running") -> None:
        """Rebuild findings.json from what is on disk now."""
        self._samples.flush()
        self.document = self._analyse(self._folder, state)
        self._writer.findings(self.document)

    def started(self, cells: int) -> None:
        """Tell followers what begins."""
        manifest = self.manifest
        self._event(
            "started",
            run=self._folder.id,
            kind=manifest.kind,
            path=manifest.path,
            model=manifest.model,
            plan=dict(manifest.plan),
            cells=cells,
            simulated=manifest.demo is not None,
        )

    def finished(self, state: RunState, text: str) -> Failure | None:
        """Close the run: last analysis, findings, state. Returns what could not be written, if anything.

        Each part is tried whatever became of the others, for a disk may have room for one of them.
        """
        failures = [
            _failure_of(partial(self.analyse, state)),
            _failure_of(self._tell_findings),
            _failure_of(partial(self._keep_state, state)),
            _failure_of(partial(self._write_event, "finished", {"state": state, "text": text})),
        ]
        return next((failure for failure in failures if failure is not None), None)

    def _tell_findings(self) -> None:
        for finding in self.document.get("findings", ()):
            self._write_event("finding", finding)

    def _keep_state(self, state: RunState) -> None:
        self.manifest = replace(self.manifest, state=state, ended_ts=time.time())
        write_manifest(self._folder, self.manifest)

    def _event(self, event_type: EventType, **data: Any) -> None:
        if self._samples.failure is not None:
            raise KvtopError(self._samples.failure)
        self._write_event(event_type, data)

    def _write_event(self, event_type: EventType, data: Mapping[str, Any]) -> None:
        self._writer.event(Event(time.time(), event_type, data))


def _failure_of(step: Callable[[], None]) -> Failure | None:
    try:
        step()
    except KvtopError as error:
        return error.failure
    return None
