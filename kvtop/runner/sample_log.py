"""Writing samples from a thread of its own, so that neither the sampler nor the client waits for the disk."""

from __future__ import annotations

import queue
import threading

from kvtop.model.failure import Failure, KvtopError
from kvtop.runs.writer import RunWriter
from kvtop.telemetry.sampler import Sample


class SampleLog:
    """Takes samples from the sampler's thread and writes their rows in order."""

    def __init__(self, writer: RunWriter) -> None:
        self._writer = writer
        self._queue: queue.SimpleQueue[Sample | threading.Event | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="kvtop-sample-log", daemon=True)
        self.failure: Failure | None = None
        """Why rows could not be written, once that has happened."""

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def put(self, sample: Sample) -> None:
        """Hand over a sample; returns at once."""
        self._queue.put(sample)

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Wait until everything handed over so far is written. False when that took too long."""
        if not self._thread.is_alive():
            return True
        reached = threading.Event()
        self._queue.put(reached)
        return reached.wait(timeout_s)

    def close(self) -> None:
        """Write what is left and end the thread."""
        self._queue.put(None)
        self._thread.join(timeout=5.0)

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            if isinstance(item, threading.Event):
                item.set()
            elif self.failure is None:
                self._write(item)

    def _write(self, sample: Sample) -> None:
        try:
            for gpu in sample.gpus:
                self._writer.gpu(gpu)
            for process in sample.processes:
                self._writer.process(process)
        except KvtopError as error:
            self.failure = error.failure
