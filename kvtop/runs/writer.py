"""Writes a run folder, row by row."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kvtop.model.event import Event
from kvtop.model.failure import Failure, KvtopError
from kvtop.model.reading import GpuReading, ProcessReading
from kvtop.model.record import RequestRecord
from kvtop.runs import rows
from kvtop.runs.columns import GPU_COLUMNS, PROCESS_COLUMNS, REQUEST_COLUMNS
from kvtop.runs.disk import replace_file
from kvtop.runs.layout import RunFolder
from kvtop.runs.line_file import LineFile
from kvtop.runs.reader import read_requests


def write_findings(folder: RunFolder, document: Mapping[str, Any]) -> None:
    """Replace `findings.json` atomically. Raises KvtopError: `disk_full`, `write_failed`."""
    replace_file(folder.findings_json, rows.json_document(document))


class RunWriter:
    """The one writer of a run folder; take its lock first (`lock.hold`). Thread-safe.

    Each row is one write to the kernel, so a killed process loses at most the row it was writing.
    A file appears with its first row. All methods raise KvtopError (`disk_full`, `write_failed`)
    when a write fails, and can be called again after that; what was written before stays whole.
    """

    def __init__(self, folder: RunFolder, *, resume: bool = False) -> None:
        """Open a new run, or with `resume` one that was begun: cut last lines are mended then and
        `requests.csv` is rebuilt from `requests.jsonl`.

        Raises KvtopError: `run_exists` for rows of an earlier run without `resume`.
        """
        self._folder = folder
        self._files: dict[Path, LineFile] = {}
        self._rows_lock = threading.Lock()
        self._findings_lock = threading.Lock()
        self._closed = False
        if resume:
            self._resume()
        elif begun := [path for path in self._row_files() if path.exists()]:
            text = f"{begun[0]} is there already."
            raise KvtopError(Failure.of("run_exists", text, f"Resume it: kvtop runs resume {folder.id}."))

    def gpu(self, reading: GpuReading) -> None:
        """Append a row to `gpu.csv`."""
        self._append(self._folder.gpu_csv, rows.gpu_line(reading), GPU_COLUMNS)

    def process(self, reading: ProcessReading) -> None:
        """Append a row to `processes.csv`."""
        self._append(self._folder.processes_csv, rows.process_line(reading), PROCESS_COLUMNS)

    def request(self, record: RequestRecord) -> None:
        """Append a record to `requests.jsonl`, the truth, and then to `requests.csv`."""
        truth, flat = rows.json_line(record.to_json()), rows.request_line(record)
        self._append(self._folder.requests_jsonl, truth)
        self._append(self._folder.requests_csv, flat, REQUEST_COLUMNS)

    def event(self, event: Event) -> None:
        """Append an event to `events.jsonl`."""
        self._append(self._folder.events_jsonl, rows.json_line(event.to_json()))

    def findings(self, document: Mapping[str, Any]) -> None:
        """Replace `findings.json`, atomically; does not hold up rows of other threads."""
        with self._findings_lock:
            write_findings(self._folder, document)

    def close(self) -> None:
        """Bring all rows to the disk and close the files. Raises the first failure after closing all."""
        with self._rows_lock:
            self._closed = True
            files, self._files = list(self._files.values()), {}
        failures = []
        for file in files:
            try:
                file.close()
            except KvtopError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _append(self, path: Path, line: bytes, columns: Iterable[str] = ()) -> None:
        with self._rows_lock:
            if self._closed:
                raise ValueError("the run writer is closed")
            file = self._files.get(path)
            if file is None:
                file = self._files[path] = LineFile(path, rows.csv_line(columns) if columns else b"")
            file.append(line)

    def _row_files(self) -> tuple[Path, ...]:
        folder = self._folder
        return (
            folder.gpu_csv,
            folder.processes_csv,
            folder.engine_csv,
            folder.requests_jsonl,
            folder.requests_csv,
            folder.events_jsonl,
        )

    def _resume(self) -> None:
        for path in self._row_files():
            if path.exists():
                LineFile(path).close()
        records = read_requests(self._folder).records
        lines = [rows.csv_line(REQUEST_COLUMNS), *map(rows.request_line, records)]
        replace_file(self._folder.requests_csv, b"".join(lines))
