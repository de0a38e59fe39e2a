"""The CSV files of `kvtop sample`, row by row."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from kvtop.model.failure import Failure, KvtopError
from kvtop.runs.columns import GPU_COLUMNS, PROCESS_COLUMNS
from kvtop.runs.rows import csv_line, gpu_line, process_line
from kvtop.telemetry.sampler import Sample

_STDOUT = 1


class SampleFile:
    """Writes GPU readings to one CSV and, if asked, process readings to another beside it.

    Raises KvtopError `unwritable_file` when a file cannot be made.
    """

    def __init__(self, out: str, *, with_processes: bool) -> None:
        self._stack = contextlib.ExitStack()
        self.paths: list[Path] = []
        self.rows = 0
        self.failure: Failure | None = None
        """Why rows could not be written any more."""
        self.ended = threading.Event()
        """Set when there is no use in further samples."""
        self._gpu = self._open(out, GPU_COLUMNS)
        self._processes: int | None = None
        if with_processes and out != "-":
            self._processes = self._open(str(Path(out).with_suffix(".processes.csv")), PROCESS_COLUMNS)

    def put(self, sample: Sample) -> None:
        """Write the rows of one sample; called from the sampler's thread."""
        if self.ended.is_set():
            return
        try:
            self._write(self._gpu, [gpu_line(gpu) for gpu in sample.gpus])
            if self._processes is not None:
                self._write(self._processes, [process_line(process) for process in sample.processes])
        except BrokenPipeError:
            self.ended.set()  # whoever read stdout has seen enough
        except OSError as error:
            text = f"The samples can no longer be written: {error.strerror}."
            self.failure = Failure.of("write_failed", text, "Rows written before are complete.")
            self.ended.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _write(self, descriptor: int, lines: Sequence[bytes]) -> None:
        for line in lines:
            while line:
                line = line[os.write(descriptor, line) :]
            self.rows += 1

    def _open(self, out: str, columns: Sequence[str]) -> int:
        descriptor = _STDOUT if out == "-" else self._create(Path(out))
        try:
            os.write(descriptor, csv_line(columns))
        except OSError as error:
            self._stack.close()
            raise _unwritable(out, error) from None
        return descriptor

    def _create(self, path: Path) -> int:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _unwritable(str(path), error) from None
        self._stack.callback(os.close, descriptor)
        self.paths.append(path)
        return descriptor


def _unwritable(out: str, error: OSError) -> KvtopError:
    text = f"{'stdout' if out == '-' else out} cannot be written: {error.strerror}."
    return KvtopError(Failure.of("unwritable_file", text, "Choose another --out."))
