"""What a run says of the engine's process and of the memory it reads on this host."""

from __future__ import annotations

from collections.abc import Sequence

from kvtop.model.failure import Failure
from kvtop.model.reading import GpuDevice
from kvtop.runner.assignment import Assignment
from kvtop.runner.folder_log import FolderLog
from kvtop.telemetry.processes import process_name
from kvtop.telemetry.sample import SamplerStatus

ENGINE_NOTE = "engine"
MEMORY_NOTE = "memory"

_MOST_NAMED = 4


class Watching:
    """Notes what is read, and each failure of the reading once."""

    def __init__(self, assignment: Assignment, log: FolderLog) -> None:
        self._pid = assignment.engine_pid
        self._assignment = assignment
        self._log = log
        self._noted: set[str] = set()

    def tell(self, status: SamplerStatus | None) -> None:
        """Say which engine and whose memory is read; `status` is None where none of this host is."""
        if status is None:
            self._log.note(MEMORY_NOTE, memory_read((), engine=False))
            return
        self._tell_engine()
        gone = any(failure.code == "engine_gone" for failure in status.failures)
        self._log.note(MEMORY_NOTE, memory_read(status.devices, engine=self._pid is not None and not gone))
        self.tell_failures(status)

    def tell_failures(self, status: SamplerStatus) -> None:
        """Say what cannot be read, as far as that was not said before."""
        for failure in status.failures:
            if failure.code not in self._noted:
                self._noted.add(failure.code)
                self._log.note(failure.code, _in_short(failure, status))

    def _tell_engine(self) -> None:
        if self._pid is None:
            if self._assignment.demo is None:
                text = "engine: no process found; --pid names one whose memory is to be read"
                self._log.note(ENGINE_NOTE, text)
            return
        name = process_name(self._pid)
        words = " ".join(word for word in (f"engine: pid {self._pid}", name) if word)
        found = self._assignment.engine_found
        self._log.note(
            ENGINE_NOTE, f"{words} ({found})" if found else words, pid=self._pid, name=name, found=found
        )


def memory_read(devices: Sequence[GpuDevice], *, engine: bool) -> str:
    """Return the line that says whose memory is read: of GPUs, of the engine's process, of nothing here."""
    named = ", ".join(f"GPU {device.index} {device.name}" for device in devices[:_MOST_NAMED])
    more = f" and {len(devices) - _MOST_NAMED} more" if len(devices) > _MOST_NAMED else ""
    read = [named + more] if devices else []
    read += ["the engine's process and its children"] if engine else []
    return f"memory: {', '.join(read) or 'none of this host'}"


def _in_short(failure: Failure, status: SamplerStatus) -> str:
    if status.devices or failure.code.startswith("engine_"):
        return str(failure)
    return f"No GPU is read: {failure.text}"
