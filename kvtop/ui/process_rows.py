"""The processes on the GPUs, one row each, as the screen of processes lists them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtop.model.quantity import UNKNOWN, format_bytes
from kvtop.ui.gpu_memory import held_bytes
from kvtop.ui.gpu_names import gpu_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kvtop.model.reading import GpuReading, ProcessReading
    from kvtop.telemetry.process_facts import ProcessFacts
    from kvtop.ui.messages import GpuSnapshot

FOREIGN = "unknown"
"""The kind of a process whose pid belongs to the host's pid namespace, which is not ours."""
OUTSIDE = "outside this pid namespace"
FOREIGN_NOTE = (
    "The driver tells pids of the host; this container has pids of its own, so a process here with the "
    "same pid is another one. Start the container with --pid=host to see names."
)


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """Texts of one row, in the order of the columns."""

    pid: str
    user: str
    gpu: str
    gpu_memory: str
    host_memory: str
    command: str

    @property
    def cells(self) -> tuple[str, ...]:
        """All texts."""
        return (self.pid, self.user, self.gpu, self.gpu_memory, self.host_memory, self.command)


def process_rows(snapshot: GpuSnapshot, facts_of: Callable[[int], ProcessFacts]) -> tuple[ProcessRow, ...]:
    """Return the rows, the largest GPU memory first; processes on no GPU are the engine's, and come last.

    `facts_of` looks at the host and may take time: not for the event loop.
    """
    indices = {reading.device.uuid: gpu_index(reading.device) for reading in snapshot.readings}
    ordered = sorted(_listed(snapshot), key=lambda process: (-(process.gpu_mem_bytes or -1), process.pid))
    return tuple(_row(process, indices, facts_of) for process in ordered)


def has_foreign(snapshot: GpuSnapshot) -> bool:
    """Whether the driver's pids are those of another pid namespace."""
    return any(process.kind == FOREIGN for process in snapshot.processes)


def sum_line(reading: GpuReading, snapshot: GpuSnapshot) -> str:
    """Return what the driver says is used and what processes hold: contexts and the driver make the rest."""
    uuid = reading.device.uuid
    used = f"GPU {gpu_index(reading.device)}: {format_bytes(reading.mem_used_bytes)} used"
    if not any(process.uuid == uuid for process in snapshot.processes):
        return f"{used}, no process is listed"
    return f"{used}, processes hold {format_bytes(held_bytes(uuid, snapshot.processes))}"


def _listed(snapshot: GpuSnapshot) -> Iterator[ProcessReading]:
    """Yield the processes on GPUs, and those of the engine's tree that are on none."""
    on_gpus = {process.pid for process in snapshot.processes if process.uuid is not None}
    for process in snapshot.processes:
        if process.uuid is not None or process.pid not in on_gpus:
            yield process


def _row(
    process: ProcessReading, indices: dict[str, str], facts_of: Callable[[int], ProcessFacts]
) -> ProcessRow:
    gpu = indices.get(process.uuid or "", UNKNOWN)
    gpu_memory = format_bytes(process.gpu_mem_bytes)
    if process.kind == FOREIGN:
        return ProcessRow(str(process.pid), UNKNOWN, gpu, gpu_memory, UNKNOWN, OUTSIDE)
    facts = facts_of(process.pid)
    return ProcessRow(
        str(process.pid),
        facts.user or UNKNOWN,
        gpu,
        gpu_memory,
        format_bytes(facts.rss_bytes if process.rss_bytes is None else process.rss_bytes),
        facts.command or process.name or UNKNOWN,
    )
