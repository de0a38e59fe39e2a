from __future__ import annotations

import threading
from pathlib import Path

import pytest

from kvtop.model.failure import Failure, KvtopError
from kvtop.runs.layout import RunFolder
from kvtop.ui import run_process
from kvtop.ui.messages import ProgressTold, RunOpened
from kvtop.ui.run_process import StartedRun
from kvtop.ui.scan_request import ScanRequest
from tests.ui.launching import app, until

REQUEST = ScanRequest(lengths=(4096,), repeats=1, prefix="cold", demo="growing")


async def test_a_scan_that_starts_is_followed_and_told_at_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[ScanRequest] = []

    def start_scan(request: ScanRequest, root: Path, **_: object) -> StartedRun:
        asked.append(request)
        return StartedRun(RunFolder(tmp_path / "20261201T000000Z-scan-m"), 1, tmp_path / "log")

    monkeypatch.setattr(run_process, "start_scan", start_scan)
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        followed: list[str] = []
        monkeypatch.setattr(running.feeds, "open_run", followed.append)
        running.control._start(REQUEST)
        while not followed:
            await pilot.pause(0.01)
        assert asked == [REQUEST]
        assert followed == ["latest"]
    assert "20261201T000000Z-scan-m" in running.session.last_words()[0]


async def test_a_scan_that_does_not_start_says_why_and_x_has_nothing_to_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start_scan(*_: object, **__: object) -> StartedRun:
        raise KvtopError(Failure("run_not_started", "The server is away.", "Start it."))

    monkeypatch.setattr(run_process, "start_scan", start_scan)
    running = app()
    async with running.run_test(size=(120, 40), notifications=True) as pilot:
        running.control._start(REQUEST)
        await until(pilot, "The server is away.")
        await pilot.press("x")
        await until(pilot, "There is no run to stop.")


async def test_x_gives_up_a_scan_that_is_only_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def start_scan(*_: object, given_up: threading.Event, **__: object) -> StartedRun:
        given_up.wait(10)
        ended.set()
        raise KvtopError(Failure("given_up", "Nothing was measured."))

    monkeypatch.setattr(run_process, "start_scan", start_scan)
    running = app()
    async with running.run_test(size=(120, 40), notifications=True) as pilot:
        running.control._start(REQUEST)
        await pilot.pause()
        await pilot.press("x")
        await until(pilot, "Nothing was measured.")
    assert ended.is_set()


async def test_x_stops_the_live_run_in_view(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[str] = []
    monkeypatch.setattr(run_process, "cancel", lambda run_id, _: stopped.append(run_id))
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        folder = running.launch.settings.runs.dir / "20261201T000000Z-scan-m"
        running.post_message(RunOpened(folder.name, folder, {}, simulated=False, live=True))
        running.post_message(ProgressTold(folder.name, 1, 15, None, None, "", "running", ""))
        await until(pilot, "1/15")
        await pilot.press("x")
        while not stopped:
            await pilot.pause(0.01)
    assert stopped == [folder.name]
