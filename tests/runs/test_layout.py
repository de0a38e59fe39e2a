from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtop.model.failure import KvtopError
from kvtop.runs.layout import SLUG_LIMIT, RunFolder, create_run_folder, slug
from tests.runs.samples import TS

if TYPE_CHECKING:
    from pathlib import Path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_folder_is_named_by_time_kind_and_model(root: Path) -> None:
    folder = create_run_folder(root, "scan", "Qwen/Qwen3-8B", TS)
    assert folder.id == "20251201T144000Z-scan-qwen3-8b"
    assert folder.path == root / folder.id
    assert folder.path.is_dir()


def test_folders_of_the_same_second_are_numbered(root: Path) -> None:
    ids = [create_run_folder(root, "scan", "m", TS).id for _ in range(3)]
    assert ids == [f"20251201T144000Z-scan-m{end}" for end in ("", "-2", "-3")]


def test_a_file_or_a_dangling_link_in_the_way_is_not_used(root: Path) -> None:
    root.mkdir()
    (root / "20251201T144000Z-scan-m").write_text("mine")
    (root / "20251201T144000Z-scan-m-2").symlink_to("nowhere")
    assert create_run_folder(root, "scan", "m", TS).id.endswith("-3")
    assert (root / "20251201T144000Z-scan-m").read_text() == "mine"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_folders_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    root = tmp_path / "share" / "kvtop" / "runs"
    before = os.umask(umask)
    try:
        folder = create_run_folder(root, "scan", "m", TS)
    finally:
        os.umask(before)
    assert {mode(path) for path in (folder.path, root, root.parent, root.parent.parent)} == {0o700}


def test_an_existing_root_keeps_its_mode(root: Path) -> None:
    root.mkdir(mode=0o750)
    root.chmod(0o750)
    create_run_folder(root, "scan", "m", TS)
    assert mode(root) == 0o750


@pytest.mark.parametrize("place", ["file", "file/runs", "file/deeper/runs"])
def test_a_root_under_a_file_is_refused_in_words(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(KvtopError) as caught:
        create_run_folder(tmp_path / place, "scan", "m", TS)
    assert caught.value.failure.code == "unwritable_folder"
    assert "file" in caught.value.failure.text
    assert caught.value.failure.hint


def test_a_root_that_no_one_can_write_is_refused_in_words() -> None:
    from pathlib import Path

    with pytest.raises(KvtopError) as caught:
        create_run_folder(Path("/proc/kvtop"), "scan", "m", TS)
    assert caught.value.failure.code == "unwritable_folder"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("Qwen/Qwen3-8B", "qwen3-8b"),
        ("/models/llama/", "llama"),
        ("../../etc/passwd", "passwd"),
        ("..", "model"),
        ("...", "model"),
        ("", "model"),
        ("   ", "model"),
        ("通义千问", "model"),
        ("模型-7B", "7b"),
        ("Größe v2", "groe-v2"),
        ("\x1b]0;owned\x07gpt", "gpt"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\nb\x00c", "a-bc"),
        ("-rf", "rf"),
        (".hidden", "hidden"),
        ("C:\\models\\x.gguf", "x.gguf"),
        ("a" * 300, "a" * SLUG_LIMIT),
        ("\ud800bad", "bad"),
    ],
)
def test_hostile_model_ids_make_safe_names(model: str, expected: str) -> None:
    assert slug(model, "model") == expected


@given(st.text(max_size=400))
def test_any_model_id_makes_a_safe_name(model: str) -> None:
    name = slug(model, "model")
    assert name.isascii()
    assert 0 < len(name) <= SLUG_LIMIT
    assert name[0] not in "-._"
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")


def test_an_id_from_disk_is_cleaned(tmp_path: Path) -> None:
    assert RunFolder(tmp_path / "run\x1b[31m red").id == "run red"
