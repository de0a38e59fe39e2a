"""One tick: ask what is due, in an order that keeps memory readings on time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from kvtop.model.failure import Failure
from kvtop.model.reading import GpuDevice, ProcessReading
from kvtop.telemetry.clock import Clock
from kvtop.telemetry.device_reader import DeviceReader
from kvtop.telemetry.gpu.source import SLOW_QUERIES, GpuProcess, GpuSource, Query
from kvtop.telemetry.gpu_list import GpuList
from kvtop.telemetry.processes import ProcessTree, available_host_memory, process_name, sees_host_pids
from kvtop.telemetry.sample import Sample


class Collector:
    """Reads the GPUs of `source` and the tree of `engine_pid`. Every method belongs to one thread."""

    def __init__(
        self,
        source: GpuSource,
        clock: Clock,
        *,
        engine_pid: int | None = None,
        interval_s: float,
        process_interval_s: float,
        process_gap_s: float = 0.0,
    ) -> None:
        self._source = source
        self._gpus = GpuList(source)
        self._clock = clock
        self._engine_pid = engine_pid
        self._tree: ProcessTree | None = None
        self._interval_s = interval_s
        self._process_interval_s = process_interval_s
        self._process_gap_s = process_gap_s
        self._turn = 0
        self._namespace_known = False

    @property
    def devices(self) -> tuple[GpuDevice, ...]:
        """The GPUs, as last identified."""
        return tuple(reader.device for reader in self._gpus.readers)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Why there is no GPU to read, what broke in its source, and what is wrong with the engine."""
        broken = (reader.failure for reader in self._gpus.readers)
        found = (self._gpus.failure, *broken, self._tree.failure if self._tree else None)
        return tuple(dict.fromkeys(failure for failure in found if failure is not None))

    @property
    def notes(self) -> tuple[Failure, ...]:
        """What is read, but not as well as it could be."""
        note = self._gpus.note
        return (note,) if note and self._gpus.readers else ()

    @property
    def has_work(self) -> bool:
        """Whether there is anything to read."""
        return bool(self._gpus.readers) or self._engine_pid is not None

    @property
    def retry_at(self) -> float | None:
        """When a source that did not open is worth another try, in monotonic seconds."""
        return self._gpus.retry_at

    def open(self) -> None:
        """Open the source; without GPUs `failures` says why and the engine is still read."""
        if self._engine_pid is not None and self._tree is None:
            self._tree = ProcessTree(self._engine_pid)
        self._gpus.open(self._clock.monotonic())
        self._namespace_known = self._source.name != "nvml" or sees_host_pids()

    def close(self) -> None:
        """Close the source."""
        self._source.close()

    def collect(self, deadline: float, *, everything: bool = False) -> Sample:
        """Take the readings of the tick due at `deadline`, `everything` with all process lists."""
        ts = self._clock.wall()
        self._source.refresh()
        for reader in self._gpus.readers:
            reader.read_memory(deadline, self._clock.monotonic(), self._clock.wall())
        engine = tuple(self._read_engine(ts))
        for reader in self._gpus.readers:
            for query in SLOW_QUERIES:
                reader.read(query, deadline, self._clock.monotonic())
        listed = self._read_process_lists(deadline, everything=everything)
        gpus = tuple(reader.reading(self._source.name) for reader in self._gpus.readers)
        rows = tuple(row for uuid, processes in listed for row in self._rows(uuid, processes))
        self._gpus.look_again(deadline)
        free_bytes = available_host_memory() if any(gpu.unified for gpu in gpus) else None
        return Sample(ts, gpus, (*engine, *rows), tuple(uuid for uuid, _ in listed), free_bytes)

    def _read_engine(self, ts: float) -> Iterator[ProcessReading]:
        if self._tree is None:
            return
        for memory in self._tree.read(self._clock.monotonic()):
            yield ProcessReading(ts, memory.pid, memory.name, "engine", rss_bytes=memory.rss_bytes)

    def _read_process_lists(
        self, deadline: float, *, everything: bool
    ) -> list[tuple[str, tuple[GpuProcess, ...]]]:
        listed = []
        every_s = max(self._process_interval_s, self._process_gap_s * len(self._gpus.readers))
        query = Query("processes", ("processes",), every_s)
        for reader in self._whose_turn(query, deadline, everything=everything):
            processes = reader.read_processes(query, deadline)
            if processes is not None:
                listed.append((reader.device.uuid, processes))
        return listed

    def _whose_turn(self, query: Query, deadline: float, *, everything: bool) -> list[DeviceReader]:
        """Return the GPUs to ask for processes: one a tick, more only where ticks are too rare for that."""
        readers = self._gpus.readers
        count = len(readers)
        in_turn = readers[self._turn :] + readers[: self._turn]
        due = [reader for reader in in_turn if reader.is_due(query, deadline)]
        asked = due if everything else due[: math.ceil(count * self._interval_s / query.every_s)]
        self._turn = (self._turn + len(asked)) % max(count, 1)
        return asked

    def _rows(self, uuid: str, processes: Iterable[GpuProcess]) -> Iterator[ProcessReading]:
        ts = self._clock.wall()
        for process in processes:
            yield ProcessReading(
                ts,
                process.pid,
                process.name or (process_name(process.pid) if self._namespace_known else None),
                self._kind(process.pid),
                uuid=uuid,
                gpu_mem_bytes=process.gpu_mem_bytes,
                source=self._source.name,
            )

    def _kind(self, pid: int) -> str:
        if not self._namespace_known:
            return "unknown"
        return "engine" if self._tree is not None and pid in self._tree else "other"
