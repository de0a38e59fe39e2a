from __future__ import annotations

import pytest

from kvtop.model.record import RequestRecord
from kvtop.ui.app import KvtopApp
from kvtop.ui.arrangement import CURVES, FINDINGS, GPUS, PANELS, REQUESTS, arrange
from kvtop.ui.messages import FindingsChanged, GpuSnapshot, ProgressTold, RequestsArrived, RunOpened
from kvtop.ui.screens.cockpit import Cockpit
from kvtop.ui.widgets.request_log import RequestLog
from tests.ui import gpu_host
from tests.ui.launching import app, text_of, until

ALL = frozenset(PANELS)
HOSTILE = "\x1b]0;owned\x07[/] [/data/models] [@click=app.quit]x[/] [$error] \x00 \u202e"


def shown(running: KvtopApp) -> set[int]:
    places = {GPUS: "#gpus", REQUESTS: "#requests", CURVES: "#curves", FINDINGS: "#findings"}
    visible = set()
    for number, place in places.items():
        widget = running.cockpit.query_one(place)
        if widget.region and all(
            node.display for node in widget.ancestors_with_self if hasattr(node, "display")
        ):
            visible.add(number)
    return visible


def record(number: int = 1, **more: object) -> RequestRecord:
    values = {"id": f"r{number}", "cell": "4096/cold/1", "tag": "cold", "ts": 1.0, "end_ts": 2.0}
    return RequestRecord(**{**values, "dialect": "openai-chat", "model": "m", **more})  # type: ignore[arg-type]  # plain values


@pytest.mark.parametrize(
    ("size", "chosen", "mode", "visible"),
    [
        ((120, 40), None, "cockpit", ALL),
        ((200, 60), None, "cockpit", ALL),
        ((120, 40), REQUESTS, "cockpit", {REQUESTS}),
        ((80, 24), None, "tabs", {GPUS}),
        ((80, 24), CURVES, "tabs", {CURVES}),
        ((109, 40), None, "tabs", {GPUS}),
        ((120, 31), None, "tabs", {GPUS}),
        ((40, 10), None, "tabs", {GPUS}),
        ((39, 10), None, "too-small", set()),
        ((40, 9), GPUS, "too-small", set()),
        ((0, 0), None, "too-small", set()),
    ],
)
def test_the_size_decides_what_is_shown(
    size: tuple[int, int], chosen: int | None, mode: str, visible: set[int]
) -> None:
    arranged = arrange(*size, chosen, has_findings=True)
    assert arranged.mode == mode
    assert arranged.visible == visible


def test_findings_take_no_room_before_there_are_any() -> None:
    assert arrange(120, 40, None, has_findings=False).visible == ALL - {FINDINGS}
    assert arrange(120, 40, FINDINGS, has_findings=False).visible == {FINDINGS}


async def test_number_keys_maximise_and_escape_restores() -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        assert shown(running) == {GPUS, REQUESTS, CURVES}
        for key in "1234":
            await pilot.press(key)
            await pilot.pause()
            assert shown(running) == {int(key)}
        await pilot.press("escape")
        await pilot.pause()
        assert shown(running) == {GPUS, REQUESTS, CURVES}


async def test_escape_restores_also_from_within_the_log() -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        running.post_message(RequestsArrived("run", (record(),), replace=False))
        await pilot.pause()
        await pilot.press("2")
        assert isinstance(running.screen.focused, RequestLog)
        await pilot.press("escape")
        await pilot.pause()
        assert shown(running) == {GPUS, REQUESTS, CURVES}


async def test_a_small_terminal_has_tabs() -> None:
    running = app()
    async with running.run_test(size=(80, 24)) as pilot:
        assert shown(running) == {GPUS}
        assert "❯1 GPUs" in text_of(running)
        await pilot.press("3")
        await pilot.pause()
        assert shown(running) == {CURVES}
        assert "❯3 Curves" in text_of(running)
        await pilot.click("PanelTabs", offset=(3, 0))
        await pilot.pause()
        assert shown(running) == {GPUS}


@pytest.mark.parametrize("size", [(20, 5), (39, 10), (1, 1)])
async def test_a_terminal_that_is_too_small_says_what_is_needed(size: tuple[int, int]) -> None:
    running = app()
    async with running.run_test(size=size) as pilot:
        await pilot.pause()
        assert shown(running) == set()
        if size[0] >= 20:
            assert "kvtop needs 40x10" in text_of(running).splitlines()[0]


async def test_it_follows_a_terminal_that_changes_its_size() -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        for size, expected in [((80, 24), {1}), ((20, 5), set()), ((200, 60), {1, 2, 3})]:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert shown(running) == expected


async def test_empty_panels_say_what_to_do_next() -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        whole = await until(pilot, "→ Install one.")
        assert "No NVIDIA driver here." in whole
        assert "s plans a length scan" in whole
        await pilot.press("4")
        assert "No findings yet." in await until(pilot, "No findings yet.")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_sixteen_gpus_are_all_visible(size: tuple[int, int]) -> None:
    running = app()
    snapshot = gpu_host.snapshot(*(gpu_host.gpu(index) for index in range(16)))
    async with running.run_test(size=size) as pilot:
        await until(pilot, "No NVIDIA driver")
        running.cockpit.show_gpus(snapshot)
        await pilot.pause()
        rows = [line.lstrip("│ ").split(" ")[0] for line in text_of(running).splitlines()]
        assert [row for row in rows if row.isdecimal() and int(row) < 16][:16] == [str(i) for i in range(16)]


async def test_requests_findings_and_progress_are_shown() -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        folder = running.launch.settings.runs.dir / "20261201T000000Z-scan-m"
        running.post_message(RunOpened(folder.name, folder, {}, simulated=True, live=True))
        running.post_message(RequestsArrived(folder.name, (record(prompt_tokens=4097),), replace=True))
        finding = {"code": "flat", "severity": "warning", "text": "Memory stands still.", "hint": ""}
        running.post_message(FindingsChanged(folder.name, {"findings": [finding]}))
        running.post_message(ProgressTold(folder.name, 1, 15, 20.0, 4972, "4096/cold/1", "running", ""))
        whole = await until(pilot, "1/15")
        assert "4,097" in whole
        assert "Memory stands still." in whole
        assert "SIMULATED" in whole.splitlines()[0]
        assert f"2 Requests  {folder.name}" in whole
        assert shown(running) == ALL


async def test_another_run_makes_room() -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        for name in ("20261201T000000Z-scan-m", "20261201T000001Z-scan-m"):
            folder = running.launch.settings.runs.dir / name
            running.post_message(RunOpened(name, folder, {}, simulated=False, live=False))
            if name.endswith("0Z-scan-m"):
                running.post_message(RequestsArrived(name, (record(prompt_tokens=4097),), replace=True))
                await until(pilot, "4,097")
        whole = await until(pilot, "1Z-scan-m")
        assert "4,097" not in whole


async def test_text_from_outside_stays_text() -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        finding = {"code": "x", "severity": "problem", "text": HOSTILE, "hint": HOSTILE}
        running.post_message(FindingsChanged("run", {"findings": [finding]}))
        running.post_message(RequestsArrived("run", (record(model=HOSTILE, tag=HOSTILE),), replace=True))
        await until(pilot, "[@click=app.quit]x[/]")
        for line in running.screen._compositor.render_strips():
            filtered = line
            for each in running.get_line_filters():
                filtered = filtered.apply_filter(each, running.screen.background_colors[1])
            assert not set(filtered.text) & {"\x1b", "\x00", "\x07", "\u202e"}


async def test_enter_opens_a_request_and_escape_leaves_it() -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        running.post_message(RequestsArrived("run", (record(),), replace=True))
        await until(pilot, "cold")
        await pilot.press("2", "enter")
        await pilot.pause()
        assert type(running.screen).__name__ == "RequestDetail"
        await pilot.press("escape")
        assert isinstance(running.screen, Cockpit)


async def test_f_follows_and_stops_following() -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        log = running.cockpit.query_one(RequestLog)
        before = log.follow
        await pilot.press("f")
        assert log.follow is not before
        await pilot.press("f")
        assert log.follow is before


@pytest.mark.parametrize("ascii_only", [False, True])
async def test_tabs_leave_the_room_of_borders_to_the_content(ascii_only: bool) -> None:
    running = app({"ui.ascii": ascii_only})
    async with running.run_test(size=(80, 24)) as pilot:
        running.post_message(RequestsArrived("run", (record(),), replace=False))
        await pilot.press("2")
        await pilot.pause()
        assert running.cockpit.query_one(RequestLog).region.width == 80


async def test_bands_of_the_history_are_named_after_their_gpus() -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        running.feeds.stop()
        first, second = gpu_host.gpu(4), gpu_host.gpu(7)
        history = {reading.device.uuid: (0.5,) * 300 for reading in (first, second)}
        running.cockpit.show_gpus(GpuSnapshot((first, second), (), gpu_host.RUNNING, history, {}))
        await pilot.pause()
        labels = [running.cockpit._history.render_line(y).text[:8].split() for y in range(20)]
    assert [label[0] for label in labels if label and label[0] in ("4", "7")] == ["4", "7"]
