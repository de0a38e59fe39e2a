"""An error that nobody foresaw: one line for the user, a file for the report, no values of variables."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from kvtop.ui import crash
from tests.ui.launching import app, until

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "sk-never-to-be-seen"


def fail(secret: str = SECRET) -> None:
    raise ValueError(f"bad length {len(secret)}\x1b[2J")


def caught() -> BaseException:
    with pytest.raises(ValueError, match="bad length") as info:
        fail()
    return info.value


def test_error_is_told_in_one_line_and_kept_without_locals(tmp_path: Path) -> None:
    failure = crash.keep(caught(), {"XDG_CACHE_HOME": str(tmp_path)})
    (file,) = (tmp_path / "kvtop").iterdir()
    assert "ValueError: bad length" in failure.text
    assert str(file) in failure.hint
    assert str(failure).isprintable()
    assert "in fail" in file.read_text()
    assert SECRET not in file.read_text() + str(failure)
    assert file.stat().st_mode & 0o777 == 0o600


def test_where_no_file_can_be_written_the_error_is_still_told(tmp_path: Path) -> None:
    (tmp_path / "kvtop").write_text("in the way")
    failure = crash.keep(caught(), {"XDG_CACHE_HOME": str(tmp_path)})
    assert "ValueError" in failure.text
    assert "No file" in failure.hint


async def test_app_ends_with_that_line_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = app(XDG_CACHE_HOME=str(tmp_path))
    ended: list[str] = []
    monkeypatch.setattr(running, "panic", lambda *told: ended.extend(map(str, told)))
    async with running.run_test(size=(120, 40)):
        running._exception = caught()  # type: ignore[assignment]  # as Textual does
        running._fatal_error()
        running._exception = None
    assert len(ended) == 1
    assert "kvtop ran into an error of its own: ValueError" in ended[0]
    assert "\n" not in ended[0]


async def test_thread_that_fails_is_a_notice(tmp_path: Path) -> None:
    running = app(XDG_CACHE_HOME=str(tmp_path))
    async with running.run_test(size=(120, 40), notifications=True) as pilot:
        error = caught()
        running._thread_failed(threading.ExceptHookArgs((type(error), error, None, None)))
        await until(pilot, "kvtop ran into an error")
