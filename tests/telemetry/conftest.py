"""Builds the fake NVML and runs scenarios against it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]


class Call(NamedTuple):
    """One line of the fake's trace."""

    thread: int
    function: str
    gpu: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a scenario printed and which calls NVML got."""

    result: Any
    calls: list[Call]

    def count(self, function: str, gpu: int = 0) -> int:
        return Counter((call.function, call.gpu) for call in self.calls)[function, gpu]

    def column(self, field: str, gpu: int = 0) -> list[Any]:
        """Return one field of one GPU over all samples."""
        return [sample["gpus"][gpu][field] for sample in self.result["samples"]]


@dataclass(frozen=True, slots=True)
class FakeNvml:
    """A built fake library and a folder for one test's files."""

    libraries: Path
    folder: Path

    def run(
        self, scenario: str, script: str | bytes = "", *, old_driver: bool = False, **arguments: Any
    ) -> Outcome:
        """Run `scenario` in a process of its own, with the fake playing `script`."""
        path, trace = self.folder / "script", self.folder / "trace"
        path.write_bytes(script.encode() if isinstance(script, str) else script)
        if "change" in arguments:
            arguments["control"] = str(self.folder / "control")
            path.write_text(f"{script!s}\ncontrol {arguments['control']}\n")
            Path(arguments["control"]).unlink(missing_ok=True)
        trace.unlink(missing_ok=True)
        environment = {
            "FAKE_NVML_SCRIPT": str(path),
            "FAKE_NVML_TRACE": str(trace),
            "LD_LIBRARY_PATH": str(self.libraries / ("old" if old_driver else "new")),
        }
        return Outcome(run_scenario(scenario, environment, arguments), _calls(trace))

    def fifo(self) -> Path:
        """Return the path of a pair of pipes for the script's `hang`."""
        path = self.folder / "fifo"
        for end in ("in", "out"):
            os.mkfifo(f"{path}.{end}")
        return path


def run_scenario(scenario: str, environment: dict[str, str], arguments: dict[str, Any]) -> Any:
    """Return the JSON that a scenario printed; a hanging process fails the test."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.telemetry.scenarios", scenario, json.dumps(arguments)],
        cwd=PROJECT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    return json.loads(ended.stdout)


def _calls(trace: Path) -> list[Call]:
    if not trace.exists():
        return []
    rows = (line.split() for line in trace.read_text().splitlines())
    return [Call(int(thread), function, int(gpu)) for thread, function, gpu in rows]


@pytest.fixture(scope="session")
def nvml_libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler (cc/gcc) to build the fake NVML")
    root = tmp_path_factory.mktemp("nvml")
    for name, flags in (("new", []), ("old", ["-DOLD_DRIVER"])):
        (root / name).mkdir()
        library = root / name / "libnvidia-ml.so.1"
        link = ["-shared", "-pthread", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1"]
        subprocess.run([compiler, *flags, "-O1", *link, "-o", library, HERE / "fake_nvml.c"], check=True)
    return root


@pytest.fixture
def fake_nvml(nvml_libraries: Path, tmp_path: Path) -> FakeNvml:
    return FakeNvml(nvml_libraries, tmp_path)
