from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kvtop.model.failure import KvtopError
from kvtop.ui.feeds import line_tail
from kvtop.ui.feeds.line_tail import NOTHING, LineTail

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lines"


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_only_whole_lines_come_and_each_once(path: Path) -> None:
    tail = LineTail(path)
    assert tail.read() == NOTHING
    append(path, b"one\ntwo\nthr")
    first = tail.read()
    assert (first.lines, first.restarted, first.skipped, first.more) == ((b"one", b"two"), True, False, False)
    assert tail.read() == NOTHING
    append(path, b"ee\n\n")
    assert tail.read().lines == (b"three", b"")
    assert tail.read() == NOTHING


def test_what_has_not_grown_is_not_opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(path, b"one\ncut")
    tail = LineTail(path)
    tail.read()
    monkeypatch.setattr(line_tail, "open_regular", None)
    assert tail.read() == NOTHING


@pytest.mark.parametrize(("kept", "lines"), [(4, (b"ccc",)), (5, (b"ccc",)), (8, (b"bbb", b"ccc")), (0, ())])
def test_a_long_file_is_begun_near_its_end_at_a_whole_line(
    path: Path, kept: int, lines: tuple[bytes, ...]
) -> None:
    append(path, b"aaa\nbbb\nccc\n")
    added = LineTail(path, kept).read()
    assert (added.lines, added.skipped) == (lines, True)


def test_a_file_that_was_replaced_or_cut_begins_again(path: Path) -> None:
    append(path, b"one\ntwo\n")
    tail = LineTail(path)
    tail.read()
    path.write_bytes(b"one\n")
    again = tail.read()
    assert (again.lines, again.restarted) == ((b"one",), True)
    other = path.with_name("other")
    other.write_bytes(b"new\nand longer\n")
    other.rename(path)
    assert tail.read().lines == (b"new", b"and longer")
    path.unlink()
    assert tail.read() == NOTHING
    path.write_bytes(b"back\n")
    assert tail.read().restarted


def test_a_last_line_that_was_mended_is_read_from_its_beginning(path: Path) -> None:
    append(path, b"one\ncut of")
    tail = LineTail(path)
    tail.read()
    os.truncate(path, 4)
    append(path, b"another line\n")
    assert tail.read().lines == (b"another line",)


def test_much_is_read_in_pieces_and_a_monstrous_line_is_skipped(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_tail, "MOST_BYTES", 10)
    append(path, b"one\ntwo\nthree\n" + b"x" * 25 + b"\nfour\n")
    tail = LineTail(path)
    lines: list[bytes] = []
    added = tail.read()
    while added != NOTHING:
        lines += added.lines
        added = tail.read()
    assert lines == [b"one", b"two", b"three", b"four"]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_cannot_be_read_has_a_reason_and_is_tried_again(
    path: Path, make: Callable[[Path], None]
) -> None:
    tail = LineTail(path)
    make(path)
    with pytest.raises(KvtopError) as caught:
        tail.read()
    assert caught.value.failure.code == "unreadable_run"
    path.rename(path.with_name("away"))
    append(path, b"one\n")
    added = tail.read()
    assert (added.lines, added.restarted) == ((b"one",), True)
