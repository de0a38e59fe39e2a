from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from kvtop.model.failure import KvtopError
from kvtop.runs.layout import RunFolder, create_run_folder
from kvtop.runs.lock import RunLock
from kvtop.runs.manifest import read_manifest, write_manifest
from kvtop.runs.reader import read_events, read_findings, read_requests
from kvtop.runs.writer import RunWriter
from tests.runs.processes import child, heard
from tests.runs.samples import GPU, MANIFEST, TS, event, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 128 KiB, where this user may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fill(place: Path) -> None:
    """Take all the room that is left on `place`."""
    with (place / "ballast").open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue


def write_on(writer: RunWriter, taken: list[str]) -> None:
    """Write requests for as long as it goes; `taken` names those that were."""
    for number in range(10_000):
        writer.event(event("request", id=f"r{number}"))
        writer.request(record(f"r{number}"))
        taken.append(f"r{number}")


def code_of(error: pytest.ExceptionInfo[KvtopError]) -> str:
    assert error.value.failure.hint
    return error.value.failure.code


def test_rows_written_before_and_after_a_full_disk_are_whole(small_disk: Path) -> None:
    folder = create_run_folder(small_disk, "scan", "m", TS)
    reserve = small_disk / "reserve"
    reserve.write_bytes(b"x" * 32_768)
    taken: list[str] = []
    with RunWriter(folder) as writer:
        with pytest.raises(KvtopError) as caught:
            write_on(writer, taken)
        assert code_of(caught) == "disk_full"
        fill(small_disk)
        attempts: list[Callable[[], None]] = [
            lambda: writer.request(record("lost", answer_text="x" * 9000)),
            lambda: writer.event(event("note", text="x" * 9000)),
            lambda: writer.gpu(GPU),
        ]
        for write in attempts:
            with pytest.raises(KvtopError) as caught:
                write()
            assert code_of(caught) == "disk_full"
        reserve.unlink()
        writer.request(record("after"))
        writer.event(event("finished", state="done"))
        writer.gpu(GPU)
    log, events = read_requests(folder), read_events(folder)
    assert not log.warnings
    assert not events.warnings
    ids = [entry.id for entry in log.records]
    assert ids[: len(taken)] == taken
    assert len(taken) > 50
    assert ids[-1] == "after"
    assert "lost" not in ids
    assert events.events[-1].type == "finished"


def test_whole_files_keep_their_old_content_on_a_full_disk(small_disk: Path) -> None:
    folder = create_run_folder(small_disk, "scan", "m", TS)
    write_manifest(folder, MANIFEST)
    with RunWriter(folder) as writer:
        writer.findings({"points": []})
        fill(small_disk)
        attempts: list[Callable[[], None]] = [
            lambda: writer.findings({"points": ["x" * 9000]}),
            lambda: write_manifest(folder, MANIFEST),
        ]
        for write in attempts:
            with pytest.raises(KvtopError) as caught:
                write()
            assert code_of(caught) == "disk_full"
    assert read_findings(folder) == {"points": []}
    assert read_manifest(folder) == MANIFEST
    assert not [path.name for path in folder.path.iterdir() if path.name.startswith(".")]


def test_a_run_cannot_begin_on_a_full_disk_and_says_so(small_disk: Path) -> None:
    folder = create_run_folder(small_disk, "scan", "m", TS)
    fill(small_disk)
    with pytest.raises(KvtopError) as caught, RunLock.hold(folder):
        pass
    assert code_of(caught) == "disk_full"


def test_a_full_device_is_told_by_every_kind_of_row(folder: RunFolder) -> None:
    writer = RunWriter(folder)
    for path in (folder.gpu_csv, folder.events_jsonl, folder.requests_jsonl):
        path.symlink_to("/dev/full")
    attempts: list[Callable[[], None]] = [
        lambda: writer.gpu(GPU),
        lambda: writer.event(event("progress")),
        lambda: writer.request(record("r1")),
    ]
    for write in attempts:
        with pytest.raises(KvtopError) as caught:
            write()
        assert code_of(caught) == "disk_full"


def test_a_line_that_a_size_limit_cuts_is_taken_back(folder: RunFolder) -> None:
    with child("limited", folder) as process:
        number, code, size = heard(process).split()
        assert process.wait(30) == 0
    assert code == "write_failed"
    assert int(size) < 5000
    log = read_requests(folder)
    assert [entry.id for entry in log.records] == [*(f"r{n}" for n in range(int(number))), "after"]
    assert not log.warnings
