from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kvtop.model.failure import KvtopError
from kvtop.runs.line_file import LineFile

if TYPE_CHECKING:
    from collections.abc import Iterator

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Disk:
    """Stands between `os.write` and the file: takes `room` bytes, then is full."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._write = os.write

    def write(self, fd: int, data: bytes) -> int:
        if not self.room:
            raise FULL
        taken = self._write(fd, data[: self.room])
        self.room -= taken
        return taken


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.csv"


def test_the_header_is_written_once(path: Path) -> None:
    for row in (b"1\n", b"2\n"):
        file = LineFile(path, b"a\n")
        file.append(row)
        file.close()
    assert path.read_bytes() == b"a\n1\n2\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_line_that_fits_in_part_is_taken_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = LineFile(path)
    file.append(b"first\n")
    disk = Disk(room=3)
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", disk.write)
        with pytest.raises(KvtopError) as caught:
            file.append(b"second\n")
    assert caught.value.failure.code == "disk_full"
    assert path.read_bytes() == b"first\n"
    file.append(b"third\n")
    file.close()
    assert path.read_bytes() == b"first\nthird\n"


def test_a_part_that_cannot_be_taken_back_is_ended(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(fd: int, length: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    file = LineFile(path)
    disk = Disk(room=3)
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", disk.write)
        patched.setattr(os, "ftruncate", refuse)
        for line in (b"first\n", b"second\n"):
            with pytest.raises(KvtopError):
                file.append(line)
    file.append(b"third\n")
    file.append(b"fourth\n")
    file.close()
    assert path.read_bytes() == b"fir\nthird\nfourth\n"


def test_short_writes_are_continued(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:2]))
    file = LineFile(path)
    file.append(b"a long line\n")
    file.close()
    assert path.read_bytes() == b"a long line\n"


def test_a_full_device_is_told(path: Path) -> None:
    path.symlink_to("/dev/full")
    file = LineFile(path)
    for _ in range(2):
        with pytest.raises(KvtopError) as caught:
            file.append(b"x\n")
        assert caught.value.failure.code == "disk_full"
        assert caught.value.failure.hint
    file.close()


def test_a_device_behind_a_link_keeps_its_mode(path: Path) -> None:
    before = Path("/dev/full").stat().st_mode
    path.symlink_to("/dev/full")
    LineFile(path).close()
    assert Path("/dev/full").stat().st_mode == before


@pytest.mark.parametrize(
    ("content", "mended"),
    [
        (b"", b""),
        (b"a\nb\n", b"a\nb\n"),
        (b"a\ncut", b"a\n"),
        (b"cut", b""),
        (b'{"id":1}\n{"id":2}', b'{"id":1}\n{"id":2}\n'),
        (b'{"id":1}\n{"id":', b'{"id":1}\n'),
        (b'{"id":1}\n17', b'{"id":1}\n'),
        (b"a\n\x00\x00\x00", b"a\n"),
        (b"a\n\xff\xff", b"a\n"),
        (b"a\n" + b"x" * 200_000, b"a\n"),
        (b"x" * 200_000, b""),
        (b"a\n" + b"[" * 100_000, b"a\n"),
        (b'{"a":"' + b"x" * 200_000 + b'"}', b'{"a":"' + b"x" * 200_000 + b'"}\n'),
    ],
)
def test_a_cut_last_line_is_mended_when_opened(path: Path, content: bytes, mended: bytes) -> None:
    path.write_bytes(content)
    LineFile(path).close()
    assert path.read_bytes() == mended


@pytest.fixture
def opened() -> Iterator[set[str]]:
    fds = Path("/proc/self/fd")
    before = {entry.name for entry in fds.iterdir()}
    yield before
    assert len(list(fds.iterdir())) == len(before)


def test_a_file_that_cannot_begin_is_closed(path: Path, opened: set[str]) -> None:
    path.symlink_to("/dev/full")
    with pytest.raises(KvtopError):
        LineFile(path, b"header\n")


def test_a_failing_disk_is_told_at_the_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    file = LineFile(path)
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(KvtopError) as caught:
        file.close()
    assert caught.value.failure.code == "write_failed"
