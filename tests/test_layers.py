"""What each layer loads when it is imported, and what it must not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import kvtop

NOWHERE = {"numpy", "plotext", "polars", "pynvml", "rich", "textual"}
PROBE = "import importlib, sys; importlib.import_module(sys.argv[1]); print(*sys.modules)"

FORBIDDEN = {
    "kvtop.model": NOWHERE | {"httpx", "psutil"},
    "kvtop.settings": NOWHERE | {"httpx", "psutil"},
    "kvtop.api.client": NOWHERE | {"psutil"},
    "kvtop.telemetry.sampler": NOWHERE | {"httpx"},
    "kvtop.runs.archive": NOWHERE | {"httpx", "psutil"},
    "kvtop.analysis.scan": NOWHERE | {"httpx", "psutil"},
    "kvtop.simulator.server": NOWHERE | {"httpx", "psutil"},
    "kvtop.experiments.scan": NOWHERE,
    "kvtop.runner.runner": NOWHERE,
    "kvtop.cli.main": NOWHERE,
    "kvtop.cli.app": NOWHERE | {"httpx", "psutil"},
    "kvtop.ui.launch": NOWHERE | {"httpx", "psutil"},
    "kvtop.ui.app": NOWHERE - {"rich", "textual"} | {"httpx", "psutil"},
}


def loaded_by(module: str) -> set[str]:
    """Return the top-level names of all modules that a fresh Python holds after importing one."""
    root = Path(kvtop.__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": str(root)}
    command = [sys.executable, "-c", PROBE, module]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize("module", FORBIDDEN)
def test_layer_loads_no_more_than_it_needs(module: str) -> None:
    # httpx loads Rich by itself, for its own command, where Rich and click happen to be installed.
    httpx_brings = set() if "httpx" in FORBIDDEN[module] else loaded_by("httpx")
    assert sorted((loaded_by(module) - httpx_brings) & FORBIDDEN[module]) == []


def test_the_probe_sees_what_is_loaded() -> None:
    assert "httpx" in loaded_by("httpx")
