from __future__ import annotations

import asyncio
import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from kvtop.ui.drawing import plot
from kvtop.ui.drawing.blank import TABS, Blank
from kvtop.ui.drawing.chart import Chart
from kvtop.ui.drawing.glyphs import Glyphs
from kvtop.ui.drawing.scan_charts import chart_of
from kvtop.ui.scan_view import ScanView, findings_of
from kvtop.ui.theme_files import load_themes
from kvtop.ui.widgets.curve_panel import CurvePanel
from tests.ui.hosts import Host, screen_text
from tests.ui.scan_documents import POOL_TAKEN, begun, document, finding, growing, paged, point, remote

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.pilot import Pilot
    from textual.strip import Strip

SIZES = [(30, 8), (60, 18), (118, 33), (150, 45)]
HOSTILE = "[/] [red]x[/red] [@click=app.quit]y[/] $error \x1b]0;owned\x07\x1b[2J\u202e"


@pytest.fixture(autouse=True)
def plotext_is_loaded() -> None:
    plot.load()


def panel(**options: Any) -> CurvePanel:
    return CurvePanel(Glyphs(), title="3 Curves", **options)


async def shown(
    value: dict[str, Any] | None, size: tuple[int, int] = (60, 18), *keys: str, ascii_only: bool = False
) -> str:
    curves = CurvePanel(Glyphs(ascii=ascii_only), title="3 Curves")
    app = Host(curves)
    async with app.run_test(size=size) as pilot:
        curves.show(value)
        await pilot.press(*keys)
        await pilot.pause()
        return screen_text(app)


async def until(pilot: Pilot[None], is_true: Callable[[], bool]) -> None:
    for _ in range(200):
        if is_true():
            return
        await pilot.pause(0.02)
    raise AssertionError("it never came")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ascii_only", [False, True])
async def test_draws_at_every_size(size: tuple[int, int], ascii_only: bool) -> None:
    drawn = await shown(growing(), size, ascii_only=ascii_only)
    assert ("o" if ascii_only else "●") in drawn.split("memory")[-1]
    assert "memory" in drawn
    assert not ascii_only or drawn.isascii()


@pytest.mark.parametrize("theme", load_themes({}).themes)
async def test_curves_differ_in_colour_in_every_theme(theme: str) -> None:
    curves = panel()
    app = Host(curves)
    async with app.run_test(size=(80, 20)) as pilot:
        app.theme = theme
        curves.choose_tab("latency")
        curves.show(remote())
        await pilot.pause()
        segments = [segment for y in range(18) for segment in curves.render_line(y)]
        colors = {mark: s.style.color for s in segments if s.style for mark in "●○■□" if mark in s.text}
    assert len(set(colors.values())) == len(colors) == 4


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (5, 3), (20, 5), (24, 4)])
async def test_a_tiny_panel_does_not_fail(size: tuple[int, int]) -> None:
    for value in (growing(), paged(), None):
        await shown(value, size, "right", "right")


async def test_slope_interval_and_fit_stand_inside() -> None:
    drawn = await shown(growing())
    assert "slope 130.9 KiB/token" in drawn
    assert "95 % CI 130.0 – 131.5" in drawn
    assert "R² > 0.9999" in drawn


async def test_axes_tell_measured_tokens_origin_and_unit() -> None:
    drawn = await shown(growing(), (118, 33))
    assert "process · prompt tokens" in drawn
    assert "1.2 GiB┤" in drawn
    assert "1022" in drawn


@pytest.mark.parametrize(
    ("tab", "words"),
    [
        (0, ("‹memory›", "memory over base", "process")),
        (1, ("‹tokens›", "prompt", "target", "usage", "from target")),
        (2, ("‹latency›", "TTFT", "total", "client clock", " s┤")),
        (3, ("‹speed›", "decode", "tok/s┤", "usage, client clock")),
    ],
)
async def test_tabs(tab: int, words: tuple[str, ...]) -> None:
    drawn = await shown(growing(), (80, 20), *["right"] * tab)
    assert [word for word in words if word not in drawn] == []


async def test_tabs_go_round_both_ways_and_tell_of_it() -> None:
    curves = panel()
    async with Host(curves).run_test(size=(80, 20)) as pilot:
        curves.focus()
        seen = []
        for key in ("left", "left", "right", "right", "right"):
            await pilot.press(key)
            seen.append(curves.tab)
    assert seen == ["speed", "latency", "speed", "memory", "tokens"]


async def test_a_tab_can_be_clicked() -> None:
    curves = panel()
    app = Host(curves)
    async with app.run_test(size=(80, 20)) as pilot:
        curves.show(growing())
        await pilot.pause()
        await pilot.click(offset=(screen_text(app).split("\n")[0].index("latency") + 1, 0))
        assert curves.tab == "latency"


async def test_a_pool_taken_at_start_is_said_and_not_drawn_flat() -> None:
    drawn = await shown(paged(), (100, 20))
    assert "this is not 0 bytes per" in drawn
    assert "Read the engine's own counters." in drawn
    assert "┤" not in drawn


@pytest.mark.parametrize("size", SIZES)
async def test_simulated_numbers_say_so_on_every_tab(size: tuple[int, int]) -> None:
    for turns in range(len(TABS)):
        assert "SIMULATED" in (await shown(paged(), size, *["right"] * turns)).split("\n")[-1]


async def test_a_remote_model_opens_on_its_tokens_and_says_why_there_is_no_memory() -> None:
    drawn = await shown(remote(), (80, 20))
    assert "‹tokens›" in drawn
    assert "cached reused" in drawn
    assert "target" in drawn
    back = await shown(remote(), (80, 20), "left")
    assert "The model runs elsewhere" in back


async def test_a_tab_chosen_by_hand_stays_when_another_run_comes() -> None:
    curves = panel()
    async with Host(curves).run_test(size=(80, 20)):
        curves.choose_tab("latency")
        curves.show(remote())
        assert curves.tab == "latency"


async def test_no_run_says_what_to_do() -> None:
    assert "Press s to start a length scan." in await shown(None)


async def test_no_point_yet() -> None:
    assert "No point yet." in await shown(begun())


async def test_another_kind_of_document_is_said_not_guessed() -> None:
    assert "This run has no curves here." in await shown({"schema": "kvtop.concurrency/1", "levels": []})


async def test_hostile_text_is_shown_as_it_is() -> None:
    value = document(point(1024, 1000), path="api", findings=[finding("remote_model", HOSTILE, HOSTILE)])
    drawn = await shown(value, (118, 33), "left")
    assert "[/] [red]x[/red] [@click=app.quit]y[/] $error" in drawn
    assert "owned" not in drawn
    assert "\x1b" not in drawn


FIRST = point(4096, 4100, latency_s=0.5, ttft_s=0.1)
SECOND = point(16384, 16400, latency_s=0.6, ttft_s=0.2)
THIRD = point(65536, 65500, latency_s=0.7, ttft_s=0.4)


async def test_a_growing_curve_waits_for_its_time() -> None:
    curves = panel(least_gap_s=600)
    app = Host(curves)
    async with app.run_test(size=(80, 20)) as pilot:
        curves.choose_tab("latency")
        curves.show(begun(FIRST))
        await pilot.pause()
        before = screen_text(app)
        curves.show(begun(FIRST, SECOND))
        await pilot.pause()
        assert screen_text(app) == before
        assert "4k" in before


async def test_what_came_last_is_drawn_when_it_is_time() -> None:
    curves = panel(least_gap_s=0.1)
    app = Host(curves)
    async with app.run_test(size=(80, 20)) as pilot:
        curves.choose_tab("latency")
        curves.show(begun(FIRST))
        await pilot.pause()
        curves.show(begun(FIRST, SECOND))
        curves.show(begun(FIRST, SECOND, THIRD))
        await until(pilot, lambda: "16k" in screen_text(app) and "64k" in screen_text(app))


async def test_another_run_is_drawn_at_once() -> None:
    curves = panel(least_gap_s=600)
    app = Host(curves)
    async with app.run_test(size=(80, 20)) as pilot:
        curves.show(growing())
        await pilot.pause()
        curves.show(paged())
        await pilot.pause()
        assert "SIMULATED" in screen_text(app)


async def test_a_document_with_the_same_curve_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    original = CurvePanel._draw

    def counted(self: CurvePanel) -> None:
        drawn.append(1)
        original(self)

    monkeypatch.setattr(CurvePanel, "_draw", counted)
    curves = panel(least_gap_s=0)
    async with Host(curves).run_test(size=(80, 20)) as pilot:
        curves.show(growing())
        await pilot.pause()
        before = len(drawn)
        curves.show(growing())
        curves.show(
            {**growing(), "findings": [finding("few_repeats", "Few.")], "spent": {"prompt_tokens": 9}}
        )
        await pilot.pause()
        assert len(drawn) == before


async def test_only_rows_that_changed_are_painted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    curves = panel(least_gap_s=0)
    async with Host(curves).run_test(size=(80, 20)) as pilot:
        first = point(65536, 65500, latency_s=0.5, ttft_s=0.1)
        curves.choose_tab("latency")
        curves.show(begun(first))
        await pilot.pause()
        painted: list[int] = []
        original = curves.render_line

        def counted(y: int) -> Strip:
            painted.append(y)
            return original(y)

        monkeypatch.setattr(curves, "render_line", counted)
        curves.show(begun(point(4096, 4100, latency_s=0.49), first))
        await pilot.pause()
        assert 0 < len(set(painted)) < 10


async def test_resizing_draws_for_the_new_size() -> None:
    curves = panel()
    app = Host(curves)
    async with app.run_test(size=(118, 33)) as pilot:
        curves.show(growing())
        for size in [(30, 8), (2, 2), (150, 45)]:
            await pilot.resize_terminal(*size)
            await pilot.pause()
        assert "slope 130.9 KiB/token" in screen_text(app)


async def test_a_document_that_came_while_hidden_is_drawn_when_shown() -> None:
    curves = panel()
    app = Host(curves)
    async with app.run_test(size=(80, 20)) as pilot:
        curves.display = False
        await pilot.pause()
        curves.show(growing())
        await pilot.pause()
        curves.display = True
        await pilot.pause()
        assert "slope 130.9 KiB/token" in screen_text(app)


async def test_plotext_is_loaded_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = asyncio.Event()
    told: list[bool] = []
    loop = asyncio.get_running_loop()

    def load() -> None:
        loop.call_soon_threadsafe(waiting.set)
        told.append(True)

    monkeypatch.setattr(plot, "is_loaded", lambda: bool(told))
    monkeypatch.setattr(plot, "load", load)
    curves = panel()
    app = Host(curves)
    async with app.run_test(size=(80, 20)) as pilot:
        curves.show(growing())
        await asyncio.wait_for(waiting.wait(), 5)
        await until(pilot, lambda: "slope" in screen_text(app))


async def test_a_missing_plotext_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def load() -> None:
        raise ModuleNotFoundError("No module named 'plotext'")

    monkeypatch.setattr(plot, "is_loaded", lambda: False)
    monkeypatch.setattr(plot, "load", load)
    curves = panel()
    app = Host(curves)
    async with app.run_test(size=(80, 20)) as pilot:
        curves.show(growing())
        await until(pilot, lambda: "plotext, which draws the curves, cannot be loaded." in screen_text(app))


def chart(value: dict[str, Any], tab: Any) -> Chart:
    found = chart_of(ScanView.read(value), tab)
    assert isinstance(found, Chart)
    return found


def test_points_lie_at_measured_tokens_never_at_targets() -> None:
    for tab in TABS:
        for curve in chart(growing(), tab).curves:
            assert {x for x, _ in curve.places} == {1022, 2049, 4096, 8191}


def test_engine_counters_come_before_device_memory() -> None:
    flat = {"origin": "device", "flat": True, "reason": "taken at start"}
    value = document(point(1024, 1000, kv_bytes=2**20), point(2048, 2000, kv_bytes=2**21), memory=flat)
    found = chart(value, "memory")
    assert (found.origin, found.unit) == ("engine counters", "MiB")
    assert found.curves[0].places == ((1000, 1.0), (2000, 2.0))


def test_theory_is_a_dashed_line_from_zero() -> None:
    slope = {"bytes_per_token": 1024.0, "theory_bytes_per_token": 1048576}
    value = document(point(1024, 1000, mem_delta_bytes=2**20), kv_slope=slope)
    found = chart(value, "memory")
    assert found.curves[-1].dashed
    assert list(found.curves[-1].places) == [(0.0, 0.0), (1000, 1000.0)]
    assert found.notes == ("slope 1.0 KiB/token", "theory 1,024.0 KiB/token")


def test_a_failed_length_is_a_gap() -> None:
    value = document(point(1024, 1000, ttft_s=1), point(2048), point(4096, 4000, ttft_s=3))
    assert chart(value, "latency").curves[0].places == ((1000, 1), (None, None), (4000, 3))


def test_ttft_has_the_spread_of_its_repeats_where_there_is_one() -> None:
    ttft = chart(growing(), "latency").curves[0]
    assert [spread.x for spread in ttft.ranges] == [1022, 2049, 4096]


def test_end_to_end_speed_stands_beside_decode_where_it_is_known() -> None:
    assert [curve.label for curve in chart(growing(), "speed").curves] == ["decode"]
    value = document(point(1024, 1000, decode_tok_s=50, e2e_tok_s=40))
    assert [curve.label for curve in chart(value, "speed").curves] == ["decode", "e2e"]


def test_the_axis_keeps_room_while_points_are_to_come() -> None:
    measured = point(4096, 4100, ttft_s=1)
    assert chart(begun(measured), "latency").x_end == 65536
    assert chart({**begun(measured), "state": "done"}, "latency").x_end is None


@pytest.mark.parametrize(
    ("code", "tab"),
    [("memory_drifts", "memory"), ("nothing_measured", "latency"), ("usage_missing", "speed")],
)
def test_the_reason_for_an_empty_tab_is_the_finding(code: str, tab: Any) -> None:
    points = [point(1024, 1000 if tab == "memory" else None)]
    value = document(*points, findings=[finding("other", "Not this."), finding(code, "Because.", "Do it.")])
    assert chart_of(ScanView.read(value), tab) == Blank("Because.", "Do it.")


def test_an_empty_tab_without_a_finding_has_the_analysis_own_reason() -> None:
    memory = {"origin": "process", "flat": None, "reason": "no idle samples before the first request"}
    value = document(point(1024, 1000), memory=memory)
    blank = chart_of(ScanView.read(value), "memory")
    assert blank == Blank("No memory per token: no idle samples before the first request.")


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"points": None, "findings": 3, "kv_slope": [], "memory": "x", "run": 7, "path": None},
        {"points": [None, 1, {}, {"prompt_tokens": "12", "ttft_s": True}, {"prompt_tokens": 10**400}]},
        {"points": [{"prompt_tokens": math.nan, "ttft_s": math.inf}], "findings": [{"severity": 9}, None]},
    ],
)
def test_documents_of_a_wrong_shape_are_unknown_not_an_error(value: dict[str, Any]) -> None:
    view = ScanView.read({"schema": "kvtop.scan/1", **value})
    assert all(isinstance(chart_of(view, tab), Blank) for tab in TABS)


def test_findings_are_read_with_text_cleaned() -> None:
    found = findings_of(paged())
    assert [entry.code for entry in found] == ["simulated", "pool_taken_at_start"]
    assert found[1].text == POOL_TAKEN
    assert findings_of(document(findings=[finding("x", "\x1b[2Jboo", severity="alarm")]))[0].text == "boo"
    assert json.loads(json.dumps(found[0].to_json())) == found[0].to_json()
