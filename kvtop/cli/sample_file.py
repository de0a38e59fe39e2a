"""The CSV files of `kvtop sample`, row by row."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from kvtop.cli.row_lateness import RowLateness
from kvtop.model.failure import Failure, KvtopError
from kvtop.runs.columns import GPU_COLUMNS, PROCESS_COLUMNS
from kvtop.runs.rows import csv_line, gpu_line, process_line
from kvtop.telemetry.sampler import Sample

_STDOUT = 1


@dataclass(frozen=True, slots=True)
class _Out:
    """One file that is written, None for stdout."""

    descriptor: int
    columns: Sequence[str]
    path: Path | None = None


class SampleFile:
    """Writes GPU readings to one CSV and, if asked, process readings to another beside it.

    A file is emptied and gets its header with the first sample; a new one without any is taken away again.
    Raises KvtopError `unwritable_file` when a file cannot be made, and `file_exists` for one that holds
    something and is not to be overwritten.
    """

    def __init__(self, out: str, *, with_processes: bool, overwrite: bool = False) -> None:
        self._stack = contextlib.ExitStack()
        self._overwrite = overwrite
        self._has_begun = False
        self.rows = 0
        self.lateness = RowLateness()
        """`late_ms` of the GPU rows."""
        self.failure: Failure | None = None
        """Why rows could not be written any more."""
        self.ended = threading.Event()
        """Set when there is no use in further samples."""
        self._name = "stdout" if out == "-" else out
        try:
            self._gpu = _Out(_STDOUT, GPU_COLUMNS) if out == "-" else self._create(Path(out), GPU_COLUMNS)
            self._processes: _Out | None = None
            if with_processes and out != "-":
                beside = Path(out).with_suffix(".processes.csv")
                self._processes = self._create(beside, PROCESS_COLUMNS)
        except KvtopError:
            self._stack.close()
            raise

    @property
    def paths(self) -> list[Path]:
        """The files that hold rows."""
        return [out.path for out in self._outs() if out.path is not None] if self._has_begun else []

    def put(self, sample: Sample) -> None:
        """Write the rows of one sample; called from the sampler's thread."""
        if self.ended.is_set():
            return
        try:
            self._write_sample(sample)
        except BrokenPipeError:
            self.ended.set()  # whoever read stdout has seen enough
        except OSError as error:
            self.failure = self._failure(error)
            self.ended.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self._stack.close()

    def _outs(self) -> list[_Out]:
        return [out for out in (self._gpu, self._processes) if out is not None]

    def _write_sample(self, sample: Sample) -> None:
        if not self._has_begun:
            self._begin()
        for gpu in sample.gpus:
            self._write(self._gpu, gpu_line(gpu))
            self.lateness.add(gpu.late_s)
        if self._processes is not None:
            for process in sample.processes:
                self._write(self._processes, process_line(process))

    def _begin(self) -> None:
        for out in self._outs():
            if stat.S_ISREG(os.fstat(out.descriptor).st_mode) and out.path is not None:
                os.ftruncate(out.descriptor, 0)
            _write_whole(out.descriptor, csv_line(out.columns))
        self._has_begun = True

    def _write(self, out: _Out, line: bytes) -> None:
        _write_whole(out.descriptor, line)
        self.rows += 1

    def _create(self, path: Path, columns: Sequence[str]) -> _Out:
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
        try:
            is_new = not os.path.lexists(path)
            descriptor = os.open(path, flags, 0o644)
        except (OSError, ValueError) as error:
            raise KvtopError(_unwritable(str(path), error)) from None
        self._stack.callback(self._close, descriptor, path if is_new else None)
        kept = os.fstat(descriptor)
        if stat.S_ISREG(kept.st_mode) and kept.st_size and not self._overwrite:
            raise KvtopError(
                Failure.of(
                    "file_exists",
                    f"{path} is there already and not empty.",
                    "Choose another --out, or overwrite it with --force.",
                )
            )
        return _Out(descriptor, columns, path)

    def _close(self, descriptor: int, to_remove: Path | None) -> None:
        os.close(descriptor)
        if to_remove is not None and not self._has_begun:
            to_remove.unlink(missing_ok=True)

    def _failure(self, error: OSError) -> Failure:
        if not self._has_begun:
            return _unwritable(self._name, error)
        text = f"The samples can no longer be written: {error.strerror}."
        return Failure.of("write_failed", text, "Rows written before are complete.")


def _write_whole(descriptor: int, line: bytes) -> None:
    while line:
        line = line[os.write(descriptor, line) :]


def _unwritable(out: str, error: OSError | ValueError) -> Failure:
    reason = getattr(error, "strerror", None) or error
    return Failure.of("unwritable_file", f"{out} cannot be written: {reason}.", "Choose another --out.")
