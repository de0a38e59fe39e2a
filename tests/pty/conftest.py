from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.pty_app import Size
from tests.pty.kvtop_on_pty import KvtopOnPty
from tests.telemetry.conftest import nvml_libraries

__all__ = ["nvml_libraries"]


@dataclass(frozen=True, slots=True)
class FakeGpus:
    """A driver that plays a script; lines of the control file hold from now on."""

    environ: dict[str, str]
    control_file: Path

    def now(self, lines: str) -> None:
        """Have these rules hold instead of the last ones."""
        written = self.control_file.with_suffix(".new")
        written.write_text(lines)
        written.replace(self.control_file)


@pytest.fixture
def start(home: Path) -> Iterator[Callable[..., KvtopOnPty]]:
    """Start kvtop on a terminal of its own; it is ended with the test, and so is every run it started."""
    with ExitStack() as stack:

        def start_kvtop(
            *arguments: str,
            size: Size = (120, 40),
            bytes_per_s: float | None = None,
            prepare: Callable[[], object] | None = None,
            **environ: str,
        ) -> KvtopOnPty:
            return stack.enter_context(
                KvtopOnPty(*arguments, size=size, environ=environ, bytes_per_s=bytes_per_s, prepare=prepare)
            )

        yield start_kvtop
    for lock in runs_in(home).glob("*/run.lock"):
        _end_runner(lock)


@pytest.fixture
def fake_gpus(nvml_libraries: Path, tmp_path: Path) -> Callable[[str | bytes], FakeGpus]:
    """Make a driver that plays a script."""

    def make(script: str | bytes) -> FakeGpus:
        path, control = tmp_path / "script", tmp_path / "control"
        path.write_bytes(
            (script.encode() if isinstance(script, str) else script) + f"\ncontrol {control}\n".encode()
        )
        environ = {"FAKE_NVML_SCRIPT": str(path), "LD_LIBRARY_PATH": str(nvml_libraries / "new")}
        return FakeGpus(environ, control)

    return make


@pytest.fixture
def runs(home: Path) -> Path:
    """The folder of run folders, made."""
    runs_in(home).mkdir(parents=True)
    return runs_in(home)


def runs_in(home: Path) -> Path:
    return home / ".local/share/kvtop/runs"


def _end_runner(lock: Path) -> None:
    with suppress(OSError, ValueError):
        pid = int(lock.read_text().split("\n")[0])
        if b"kvtop" in Path(f"/proc/{pid}/cmdline").read_bytes() and pid != os.getpid():
            os.kill(pid, signal.SIGKILL)
