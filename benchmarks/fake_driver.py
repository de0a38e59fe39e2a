"""A driver without a GPU for a program that is measured: the fake NVML of the tests, found by its name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_SOURCE = Path(__file__).parents[1] / "tests" / "telemetry" / "fake_nvml.c"
_CALL_TIMES = """
delay nvmlDeviceGetMemoryInfo_v2 12
delay nvmlDeviceGetUtilizationRates 3
delay nvmlDeviceGetComputeRunningProcesses_v3 4500
"""
"""Microseconds that such calls take on real drivers."""


@dataclass(frozen=True, slots=True)
class FakeDriver:
    """A library in a folder of its own, and the file that changes its rules while it is in use."""

    environ: dict[str, str]
    control: Path

    def now(self, rules: str) -> None:
        """Have these rules hold from now on."""
        written = self.control.with_suffix(".new")
        written.write_text(rules)
        written.replace(self.control)


def build(folder: Path, gpus: int = 8) -> FakeDriver:
    """Build a driver whose GPUs are always busy: memory and utilization change at each reading."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        sys.exit("no C compiler (cc/gcc) to build the fake NVML")
    folder.mkdir(parents=True, exist_ok=True)
    library, script, control = folder / "libnvidia-ml.so.1", folder / "script", folder / "control"
    link = ["-shared", "-fPIC", "-pthread", "-Wl,-soname,libnvidia-ml.so.1"]
    subprocess.run([compiler, "-O1", *link, "-o", library, _SOURCE], check=True)
    gpu_lines = [
        f"memory {gpu} 143771 1000\nwave {gpu} {20 + 3 * gpu} {10_000 + 1000 * gpu} {120_000 + 1000 * gpu}\n"
        for gpu in range(gpus)
    ]
    script.write_text(f"gpus {gpus}\n{''.join(gpu_lines)}{_CALL_TIMES}control {control}\n")
    return FakeDriver({"LD_LIBRARY_PATH": str(folder), "FAKE_NVML_SCRIPT": str(script)}, control)


def user(home: Path) -> dict[str, str]:
    """Return the environment of a user who has set nothing, on a terminal of 256 colours as over SSH."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return {**kept, "HOME": str(home), "TERM": "xterm-256color", "LANG": "C.UTF-8"}
