from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from kvtop.model.failure import KvtopError
from kvtop.runs.disk import open_private, replace_file, write_error


@pytest.mark.parametrize("umask", [0o000, 0o777])
def test_files_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        replace_file(tmp_path / "replaced", b"x")
        os.close(open_private(tmp_path / "opened", os.O_WRONLY))
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


def test_replacing_leaves_nothing_else_behind(tmp_path: Path) -> None:
    for content in (b"one", b"two"):
        replace_file(tmp_path / "f", content)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert (tmp_path / "f").read_bytes() == b"two"


def test_a_failed_replacement_keeps_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_file(tmp_path / "f", b"old")

    def fail(fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(KvtopError) as caught:
        replace_file(tmp_path / "f", b"new")
    assert caught.value.failure.code == "disk_full"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert (tmp_path / "f").read_bytes() == b"old"


def test_replacing_under_a_file_fails_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(KvtopError) as caught:
        replace_file(tmp_path / "file" / "run.toml", b"x")
    assert caught.value.failure.code == "write_failed"
    assert "run.toml: Not a directory" in caught.value.failure.text


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "disk_full"),
        (errno.EDQUOT, "disk_full"),
        (errno.EIO, "write_failed"),
        (errno.EROFS, "write_failed"),
        (errno.EACCES, "write_failed"),
        (errno.ENODEV, "write_failed"),
    ],
)
def test_every_error_has_a_code_and_a_hint(number: int, code: str) -> None:
    failure = write_error(Path("runs/r/gpu.csv"), OSError(number, os.strerror(number))).failure
    assert failure.code == code
    assert os.strerror(number) in failure.text
    assert failure.hint


def test_an_error_without_a_number_is_told_too() -> None:
    assert "odd" in write_error(Path("f"), OSError("odd")).failure.text


def test_opened_files_are_not_inherited(tmp_path: Path) -> None:
    fd = open_private(tmp_path / "f", os.O_WRONLY)
    try:
        assert not os.get_inheritable(fd)
    finally:
        os.close(fd)


@pytest.mark.parametrize("flags", [os.O_WRONLY, os.O_WRONLY | os.O_TRUNC, os.O_RDWR])
def test_a_link_to_another_file_is_not_written(tmp_path: Path, flags: int) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    victim.chmod(0o644)
    link = tmp_path / "run.lock"
    link.symlink_to(victim)
    with pytest.raises(KvtopError) as caught:
        open_private(link, flags)
    assert "link" in caught.value.failure.text
    assert victim.read_text() == "precious"
    assert victim.stat().st_mode & 0o777 == 0o644
