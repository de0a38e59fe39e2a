"""A scan is a process of its own: it outlives the app, and the app finds it again."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pty.byte_stream import said_after_leaving
from tests.pty.conftest import runs_in
from tests.pty.kvtop_on_pty import KvtopOnPty

SHORT = '[scan]\nlengths = "256,512"\nrepeats = 2\n[requests]\nmax_tokens = 16\n'
LONG = '[scan]\nlengths = "2k,4k"\nrepeats = 200\n[requests]\nmax_tokens = 64\n'


def configure(home: Path, text: str) -> None:
    folder = home / ".config/kvtop"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)


def events(home: Path) -> list[dict[str, object]]:
    files = list(runs_in(home).glob("*/events.jsonl"))
    lines = files[0].read_text().splitlines(keepends=True) if files else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def has(home: Path, kind: str) -> bool:
    return any(event["type"] == kind for event in events(home))


def is_locked(home: Path) -> bool:
    [lock] = runs_in(home).glob("*/run.lock")
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def scanning(start: Callable[..., KvtopOnPty], home: Path) -> KvtopOnPty:
    """Start the app and from it a demo scan; return when that has measured something."""
    app = start("--demo")
    app.started()
    app.until("SIMULATED")
    app.press("s")
    app.until("Sends")
    app.press("\r")
    app.until(lambda: has(home, "request"))
    return app


@pytest.mark.parametrize("config", [SHORT])
def test_scan_is_watched_to_its_end(start: Callable[..., KvtopOnPty], home: Path, config: str) -> None:
    configure(home, config)
    app = scanning(start, home)
    app.until(lambda: has(home, "finished"))
    app.until("done")
    app.quit()
    assert "kvtop runs show" in said_after_leaving(bytes(app.written))


def test_scan_survives_kill_9_of_the_app(start: Callable[..., KvtopOnPty], home: Path) -> None:
    configure(home, SHORT)
    app = scanning(start, home)
    app.kill()
    other = start()
    other.until(lambda: has(home, "finished"))
    assert events(home)[-1]["state"] == "done"
    [requests] = runs_in(home).glob("*/requests.jsonl")
    assert len({json.loads(line)["id"] for line in requests.read_text().splitlines()}) >= 4
    other.until("done")
    other.quit()


def test_quit_attach_again_and_cancel(start: Callable[..., KvtopOnPty], home: Path) -> None:
    configure(home, LONG)
    app = scanning(start, home)
    app.quit()
    words = said_after_leaving(bytes(app.written))
    assert "still running" in words
    assert "attach again: kvtop runs follow" in words
    assert is_locked(home)
    again = start()
    again.until("running")
    again.until("SIMULATED")
    seen = len(events(home))
    again.until(lambda: len(events(home)) > seen)
    again.press("x")
    again.until(lambda: has(home, "finished"))
    again.until("cancelled")
    assert events(home)[-1]["state"] == "cancelled"
    again.quit()
    assert "kvtop runs show" in said_after_leaving(bytes(again.written))
