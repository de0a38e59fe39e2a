"""The `kvtop` command as a process of its own, and the folders that it leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kvtop
from kvtop.runs.archive import find_run
from kvtop.runs.layout import RunFolder

ROOT = Path(kvtop.__file__).parents[1]
PATIENCE_S = 60


@contextmanager
def program(*arguments: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Start `python -m kvtop` with `arguments`; it is killed at the end when it has not ended before."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= options.pop("env", {})
    for stream in ("stdout", "stderr"):
        options.setdefault(stream, subprocess.PIPE)
    options.setdefault("stdin", subprocess.DEVNULL)
    command = [sys.executable, "-m", "kvtop", *arguments]
    process = subprocess.Popen(command, env=environment, text=True, encoding="utf-8", **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for the end; return exit code, stdout and stderr."""
    out, err = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in err
    return process.returncode, out, err


def run_program(*arguments: str, **options: Any) -> tuple[int, str, str]:
    """Run to the end; return exit code, stdout and stderr."""
    with program(*arguments, **options) as process:
        return ended(process)


def runs_root() -> Path:
    return Path(os.environ["XDG_DATA_HOME"]) / "kvtop/runs"


def latest() -> RunFolder:
    return find_run(runs_root(), "latest")


def scan_arguments(url: str, *more: str) -> list[str]:
    """A short scan: two lengths, two repeats, four words an answer."""
    plan = ["--lengths", "400,800", "--repeats", "2", "--max-tokens", "4", "--interval", "10ms"]
    return ["scan", "--base-url", url, "--model", "counted-1b", *plan, *more]
