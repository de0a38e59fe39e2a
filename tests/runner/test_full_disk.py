from __future__ import annotations

import json
import resource
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvtop.runs.archive import find_run
from kvtop.runs.reader import read_events, read_requests
from tests.experiments.chat_server import ChatServer, Fault
from tests.runner.program import ended, latest, program, run_program, runs_root, scan_arguments

FILE_LIMIT_BYTES = 12_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 KiB, where this user may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fill(place: Path) -> None:
    with (place / "ballast").open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue


def test_a_disk_that_fills_up_ends_the_run_with_a_clear_line(server: ChatServer, small_disk: Path) -> None:
    release = threading.Event()
    server.faults[5] = Fault(hold=release)
    runs = {"KVTOP_RUNS_DIR": str(small_disk / "runs")}
    arguments = scan_arguments(server.url, "--json", "--keep-bodies", "--interval", "200ms")
    with program(*arguments, env=runs) as process:
        server.wait_for(5)
        fill(small_disk)
        release.set()
        code, out, err = ended(process)
    assert code == 1
    assert "No space left on device" in err
    assert "Free space for" in err
    document = json.loads(out)
    assert document["points"][0]["n"] == 2
    folder = find_run(small_disk / "runs", "latest")
    log = read_requests(folder)
    assert not log.warnings
    assert not read_events(folder).warnings
    assert len(log.records) >= 4


def test_samples_that_cannot_be_written_end_the_run_and_are_told(server: ChatServer) -> None:
    """The process readings of the engine reach a size limit long before the requests do."""

    def limit_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT_BYTES, FILE_LIMIT_BYTES))

    release = threading.Event()
    server.faults[1] = Fault(hold=release)
    arguments = scan_arguments(server.url, "--json")
    with program(*arguments, preexec_fn=limit_files) as process:
        while process.poll() is None and not _has_bytes(FILE_LIMIT_BYTES - 200):
            release.wait(0.02)
        release.set()
        code, out, err = ended(process)
    assert code == 1
    assert "processes.csv: File too large" in err
    assert "ulimit -f" in err
    assert json.loads(out)["state"] == "failed"
    folder = latest()
    assert len(read_requests(folder).records) <= 1
    assert read_events(folder).events[-1].data["state"] == "failed"


def _has_bytes(count: int) -> bool:
    return any(path.stat().st_size >= count for path in runs_root().glob("*/processes.csv"))


def test_a_run_does_not_begin_on_a_full_disk(server: ChatServer, small_disk: Path) -> None:
    runs = small_disk / "runs"
    runs.mkdir()
    fill(small_disk)
    code, out, err = run_program(*scan_arguments(server.url), env={"KVTOP_RUNS_DIR": str(runs)})
    assert code == 2
    assert out == ""
    assert "No space left on device" in err
    assert server.chats == []
