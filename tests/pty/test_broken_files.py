"""Files that are not what they should be are told by name, and the app goes on without them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pty.kvtop_on_pty import KvtopOnPty
from tests.pty.run_folders import write_run

NAME = "20991201T000000Z-scan-x"


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("[ui]\ntheme = \n", "2"),
        ("[ui]\nthem = 'dark'\n", "2"),
        ("[scan]\n\nrepeats = 'many'\n", "3"),
        ("profile = 'x'\n\xff", ""),
        (b"\xff\xfe\x00", ""),
        ("[keys]\nscann = 'z'\n", "2"),
    ],
    ids=["not TOML", "unknown key", "wrong value", "wrong end", "not text", "unknown action"],
)
def test_config(start: Callable[..., KvtopOnPty], home: Path, content: str | bytes, line: str) -> None:
    write(home / ".config/kvtop/config.toml", content)
    app = start()
    app.until(lambda: "config.toml" in unwrapped(app) and line in unwrapped(app))
    app.until(lambda: "q quit" in app.lines[-1])
    app.quit()


@pytest.mark.parametrize(
    "content",
    ["name = 'mine'\n[colors]\nprimary = \n", "name = 'mine'\n[colors]\nprimary = 'nocolour'\n", b"\xff\xfe"],
    ids=["not TOML", "no colour", "not text"],
)
def test_theme(start: Callable[..., KvtopOnPty], home: Path, content: str | bytes) -> None:
    write(home / ".config/kvtop/themes/mine.toml", content)
    write(home / ".config/kvtop/config.toml", "[ui]\ntheme = 'mine'\n")
    app = start()
    app.until(lambda: "mine.toml" in unwrapped(app))
    app.until(lambda: "q quit" in app.lines[-1])
    app.press("t")
    app.until(lambda: "high-contrast" in app.shown)
    app.leave("Enter keeps")
    app.quit()


def unwrapped(app: KvtopOnPty) -> str:
    """Return what is on the screen without the breaks of a notice's lines."""
    return "".join(app.shown.split())


def cut(folder: Path) -> None:
    for name in ("requests.jsonl", "events.jsonl", "findings.json", "run.toml"):
        file = folder / name
        file.write_bytes(file.read_bytes()[:-20])


def newer(folder: Path) -> None:
    file = folder / "run.toml"
    file.write_text(file.read_text().replace("schema = 1", "schema = 99"))


def unreadable(folder: Path) -> None:
    for name in ("run.toml", "requests.jsonl"):
        (folder / name).unlink()
        (folder / name).symlink_to(folder / name)


def pipes(folder: Path) -> None:
    for name in ("run.toml", "requests.jsonl", "events.jsonl", "findings.json"):
        (folder / name).unlink()
        os.mkfifo(folder / name)


def directories(folder: Path) -> None:
    for name in ("run.toml", "requests.jsonl", "events.jsonl"):
        (folder / name).unlink()
        (folder / name).mkdir()


def noise(folder: Path) -> None:
    for file in folder.iterdir():
        file.write_bytes(bytes(range(256)) * 64)


def empty(folder: Path) -> None:
    for file in folder.iterdir():
        file.write_bytes(b"")


def bare(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


def wrong_types(folder: Path) -> None:
    (folder / "requests.jsonl").write_text('{"id": 7}\n[]\n{"id": "r1", "ts": "x", "usage_raw": 3}\nnull\n')
    (folder / "events.jsonl").write_text('{"ts": 1}\n{"ts": 1, "type": "progress", "done": "x"}\n3\n')
    (folder / "findings.json").write_text(
        '{"schema": "kvtop.scan/1", "points": [3, {}], "findings": [1, null]}'
    )


@pytest.mark.parametrize(
    "break_it",
    [cut, newer, unreadable, pipes, directories, noise, empty, bare, wrong_types],
    ids=lambda function: function.__name__,
)
def test_run_folder(start: Callable[..., KvtopOnPty], runs: Path, break_it: Callable[[Path], None]) -> None:
    write_run(runs, "20981201T000000Z-scan-good")
    break_it(write_run(runs, NAME))
    app = start()
    app.started()
    app.press("r")
    app.until("scan-good")
    app.press("j\r")
    app.until("q quit")
    app.until(lambda: "1 GPUs" in app.shown and "2 Requests" in app.shown)
    app.press("r")
    app.until("scan-good")
    app.leave("Enter opens")
    app.quit()


def test_runs_folder_that_is_a_file(start: Callable[..., KvtopOnPty], runs: Path) -> None:
    runs.rmdir()
    runs.write_text("")
    app = start()
    app.started()
    app.press("r")
    app.until("Runs")
    app.leave("Enter opens")
    app.quit()
