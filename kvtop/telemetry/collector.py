"""One tick: ask what is due, in an order that keeps memory readings on time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from kvtop.model.failure import Failure
from kvtop.model.reading import GpuDevice, ProcessReading
from kvtop.telemetry.clock import Clock
from kvtop.telemetry.device_reader import DeviceReader
from kvtop.telemetry.gpu.source import SLOW_QUERIES, GpuProcess, GpuSource, GpuUnavailable, Query
from kvtop.telemetry.processes import ProcessTree, process_name, sees_host_pids
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
    ) -> None:
        self.gpu_failure: Failure | None = None
        """Why there is no GPU to read."""
        self._source = source
        self._clock = clock
        self._engine_pid = engine_pid
        self._tree: ProcessTree | None = None
        self._readers: list[DeviceReader] = []
        self._processes = Query("processes", ("processes",), process_interval_s)
        self._tick_share = interval_s / process_interval_s
        self._turn = 0
        self._namespace_known = source.name != "nvml" or sees_host_pids()

    @property
    def devices(self) -> tuple[GpuDevice, ...]:
        """The GPUs, as last identified."""
        return tuple(reader.device for reader in self._readers)

    @property
    def engine_failure(self) -> Failure | None:
        """What is wrong with the engine's processes."""
        return self._tree.failure if self._tree else None

    @property
    def has_work(self) -> bool:
        """Whether there is anything to read."""
        return bool(self._readers) or self._engine_pid is not None

    def open(self) -> None:
        """Open the source; without GPUs `gpu_failure` says why and the engine is still read."""
        if self._engine_pid is not None:
            self._tree = ProcessTree(self._engine_pid)
        try:
            self._readers = [DeviceReader(self._source, device) for device in self._source.open()]
        except GpuUnavailable as unavailable:
            self.gpu_failure = unavailable.failure

    def close(self) -> None:
        """Close the source."""
        self._source.close()

    def collect(self, deadline: float, *, everything: bool = False) -> Sample:
        """Take the readings of the tick due at `deadline`, `everything` with all process lists."""
        ts = self._clock.wall()
        self._source.refresh()
        for reader in self._readers:
            reader.read_memory(deadline, self._clock.monotonic(), self._clock.wall())
        engine = tuple(self._read_engine(ts))
        for reader in self._readers:
            for query in SLOW_QUERIES:
                reader.read(query, deadline, self._clock.monotonic())
        listed = self._read_process_lists(deadline, everything=everything)
        gpus = tuple(reader.reading(self._source.name) for reader in self._readers)
        rows = (row for uuid, processes in listed for row in self._rows(uuid, processes))
        return Sample(ts, gpus, (*engine, *rows), tuple(uuid for uuid, _ in listed))

    def _read_engine(self, ts: float) -> Iterator[ProcessReading]:
        if self._tree is None:
            return
        for memory in self._tree.read(self._clock.monotonic()):
            yield ProcessReading(ts, memory.pid, memory.name, "engine", rss_bytes=memory.rss_bytes)

    def _read_process_lists(
        self, deadline: float, *, everything: bool
    ) -> list[tuple[str, tuple[GpuProcess, ...]]]:
        listed = []
        for reader in self._whose_turn(deadline, everything=everything):
            processes = reader.read_processes(self._processes, deadline)
            if processes is not None:
                listed.append((reader.device.uuid, processes))
        return listed

    def _whose_turn(self, deadline: float, *, everything: bool) -> list[DeviceReader]:
        """Return the GPUs to ask for processes: one a tick, more only where ticks are too rare for that."""
        count = len(self._readers)
        in_turn = self._readers[self._turn :] + self._readers[: self._turn]
        due = [reader for reader in in_turn if reader.is_due(self._processes, deadline)]
        asked = due if everything else due[: math.ceil(count * self._tick_share)]
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
