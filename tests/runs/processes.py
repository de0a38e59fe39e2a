"""Starts the children of `tests.runs.child`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import kvtop
from kvtop.runs.layout import RunFolder


@contextmanager
def child(role: str, folder: RunFolder) -> Iterator[subprocess.Popen[str]]:
    """Run a child in `role` on `folder`; it is killed at the end when it has not ended before."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.runs.child", role, str(folder.path)],
        cwd=Path(kvtop.__file__).parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def heard(process: subprocess.Popen[str]) -> str:
    """Return the next line that the child says; waits for it."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str]) -> None:
    """Send the child one line."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def end(process: subprocess.Popen[str]) -> int:
    """Close the child's stdin and return its exit code."""
    assert process.stdin is not None
    process.stdin.close()
    return process.wait(30)
