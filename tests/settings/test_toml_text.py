from __future__ import annotations

import os
import traceback
from pathlib import Path

import pytest

from kvtop.model.failure import Failure, KvtopError
from kvtop.settings.toml_text import LARGEST_FILE_BYTES, nearest, read_toml

KEY = "sk-live-0123456789abcdef"


def refused(path: Path) -> Failure:
    with pytest.raises(KvtopError) as caught:
        read_toml(path)
    assert str(path) in caught.value.failure.text
    return caught.value.failure


def refused_text(folder: Path, content: str | bytes) -> Failure:
    path = folder / "x.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    failure = refused(path)
    assert failure.code == "bad_toml"
    return failure


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("a = 1\nb = \n", 2, "invalid value"),
        ("a = 1\na = 2\n", 2, "second time"),
        ("[a]\nx = 1\n[b]\n[a]\n", 4, "table [a]"),
        ("[a.b]\n[c]\n[a.b]\n", 3, "table [a.b]"),
        ("a = 1\n\nb = 'x\n", 3, ""),
        ("a = 1\nb = [1,\n", 2, "end of the file"),
        ("x = 1\nkey = sk-abc\n", 2, "invalid value"),
        ("x = 1\x00\n", 1, ""),
        ('x = "\\q"\n', 1, ""),
        ("ключ = 1\n", 1, ""),
    ],
)
def test_syntax_errors_name_file_and_line(tmp_path: Path, content: str, line: int, words: str) -> None:
    failure = refused_text(tmp_path, content)
    assert f"x.toml:{line}: " in failure.text
    assert words in failure.text


@pytest.mark.parametrize(
    "content",
    [
        "a = " + "[" * 20_000,
        "a = " + "9" * 6000,
        "a." * 3000 + "b = ",
        "[" * 5000,
        "a = {" * 3000,
        "\x1b[31m = 1",
    ],
)
def test_hostile_text_is_refused_without_a_traceback(tmp_path: Path, content: str) -> None:
    failure = refused_text(tmp_path, content)
    assert "\x1b" not in failure.text


def test_line_of_bytes_that_are_no_utf8(tmp_path: Path) -> None:
    failure = refused_text(tmp_path, b"a = 1\nb = '\xff'\n")
    assert "x.toml:2: is not UTF-8" in failure.text


def test_utf16_says_what_to_do(tmp_path: Path) -> None:
    failure = refused_text(tmp_path, "a = 1\n".encode("utf-16"))
    assert "UTF-16" in failure.text
    assert "UTF-8" in failure.hint


def test_too_large(tmp_path: Path) -> None:
    assert "larger" in refused_text(tmp_path, b"#" * (LARGEST_FILE_BYTES + 1)).text


def test_bom_and_crlf_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xef\xbb\xbfa = 1\r\n[b]\r\nc = 2\r\n")
    file = read_toml(path)
    assert file.values == {"a": 1, "b": {"c": 2}}
    assert file.line_of(("b", "c")) == 3


def test_empty_file_is_an_empty_table(tmp_path: Path) -> None:
    (tmp_path / "x.toml").touch()
    assert read_toml(tmp_path / "x.toml").values == {}


def test_folder_missing_fifo_loop_and_odd_name(tmp_path: Path) -> None:
    assert "folder" in refused(tmp_path).text
    assert "no such file" in refused(tmp_path / "none.toml").text
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    assert "cannot be read" in refused(tmp_path / "loop.toml").text
    os.mkfifo(tmp_path / "pipe.toml")
    assert "regular" in refused(tmp_path / "pipe.toml").text
    with pytest.raises(KvtopError):
        read_toml(Path("a\0b.toml"))


def test_not_permitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.toml"
    path.write_text("a = 1\n")

    def denied(*args: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    assert "permission denied" in refused(path).text


def test_line_of_a_missing_key_is_its_table_and_at_the_top_unknown(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("a = 1\n[b]\n")
    file = read_toml(path)
    assert file.line_of(("b", "missing")) == 2
    assert file.line_of(("missing",)) is None
    assert str(file.error("bad_value", ("missing",), "is missing")) == f"{path}: is missing"


@pytest.mark.parametrize(
    "rest", ["\nx = \n", "\nx = 1\nx = 2\n", '\n"', "\nx = '\xff'", "\nb = [[[", "\n[a]\n[a]\n"]
)
def test_no_complaint_repeats_the_content(tmp_path: Path, rest: str) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(f'key = "{KEY}"{rest}'.encode("latin-1"))
    with pytest.raises(KvtopError) as caught:
        read_toml(path)
    report = "".join(
        traceback.TracebackException.from_exception(caught.value, capture_locals=True).format(chain=True)
    )
    assert KEY not in report
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_repr_of_a_file_shows_no_content(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(f'key = "{KEY}"\n')
    assert KEY not in repr(read_toml(path))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("bas_url", "base_url"), ("base-url", "base_url"), ("Model", "model"), ("zzz", None), ("", None)],
)
def test_nearest(name: str, expected: str | None) -> None:
    assert nearest(name, ["base_url", "model", "dialect"]) == expected
