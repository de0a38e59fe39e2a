"""What other processes do to a run folder: `python -m tests.runs.child ROLE FOLDER`.

Each role says on stdout how far it is and waits for lines on stdin; it ends when stdin does.
"""

from __future__ import annotations

import itertools
import resource
import subprocess
import sys
from pathlib import Path

from kvtop.model.failure import KvtopError
from kvtop.runs.layout import RunFolder
from kvtop.runs.lock import RunLock
from kvtop.runs.writer import RunWriter
from tests.runs.samples import GPU, event, record


def say(text: object) -> None:
    print(text, flush=True)  # noqa: T201 - how a child answers


def hold(folder: RunFolder) -> None:
    """Hold the lock until stdin ends."""
    try:
        with RunLock.hold(folder):
            say("held")
            sys.stdin.readline()
    except KvtopError as error:
        say(f"{error.failure.code} {error.failure.text}")


def hold_with_child(folder: RunFolder) -> None:
    """Hold the lock and start a program that inherits every descriptor it can; says its pid."""
    with RunLock.hold(folder):
        program = subprocess.Popen(["sleep", "60"], close_fds=False, stdin=subprocess.DEVNULL)
        say(program.pid)
        sys.stdin.readline()


def stream(folder: RunFolder) -> None:
    """Write rows without end, naming each request once it is written."""
    with RunLock.hold(folder), RunWriter(folder) as writer:
        writer.event(event("started", run=folder.id))
        for number in itertools.count():
            writer.gpu(GPU)
            writer.request(record(f"r{number}"))
            writer.event(event("request", id=f"r{number}"))
            say(number)


def steps(folder: RunFolder) -> None:
    """Write one event for each line of stdin, and `finished` at its end."""
    with RunLock.hold(folder), RunWriter(folder) as writer:
        writer.event(event("started", run=folder.id))
        say("started")
        for number, _ in enumerate(sys.stdin):
            writer.event(event("request", id=f"r{number}"))
        writer.event(event("finished", state="done"))


def limited(folder: RunFolder) -> None:
    """Write until a file may not grow further, tell how many requests were taken, then go on."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with RunWriter(folder) as writer:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, hard))
        for number in itertools.count():
            try:
                writer.request(record(f"r{number}"))
            except KvtopError as error:
                say(f"{number} {error.failure.code} {folder.requests_jsonl.stat().st_size}")
                break
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        writer.request(record("after"))


if __name__ == "__main__":
    role = {
        "hold": hold,
        "hold-with-child": hold_with_child,
        "stream": stream,
        "steps": steps,
        "limited": limited,
    }
    role[sys.argv[1]](RunFolder(Path(sys.argv[2])))
