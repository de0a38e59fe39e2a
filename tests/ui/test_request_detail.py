from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from rich.cells import cell_len

from kvtop.model.endpoint import Price
from kvtop.model.failure import Failure
from kvtop.ui.drawing.glyphs import Glyphs
from kvtop.ui.requests.detail import JSON_LIMIT, groups_of, json_block
from kvtop.ui.requests.timeline import draw_timeline, phases_of
from kvtop.ui.screens.request_detail import RequestDetail
from tests.ui.request_samples import HOSTILE, LogApp, failed, running, sample, shown_lines, unsafe_in

if TYPE_CHECKING:
    from kvtop.model.record import RequestRecord

PRICE = Price("CNY", 2.0, 0.2, 8.0)


class DetailApp(LogApp):
    """Shows one request and keeps what it asks to be copied."""

    def __init__(self, record: RequestRecord, **options: Any) -> None:
        super().__init__()
        self.detail = RequestDetail(record, **options)
        self.copied: list[str] = []

    def on_mount(self) -> None:
        self.push_screen(self.detail)

    def on_request_detail_copy_asked(self, event: RequestDetail.CopyAsked) -> None:
        self.copied.append(event.text)


def values_of(record: RequestRecord, price: Price | None = None) -> dict[str, tuple[str, str]]:
    return {
        field.name: (field.value, field.origin)
        for group in groups_of(record, Glyphs(), price)
        for field in group.fields
    }


def test_every_count_and_time_has_its_origin() -> None:
    values = values_of(sample(0, connect_s=0.0123, notes=("zero_is_ambiguous", "new")), PRICE)
    assert values["prompt"] == ("4,000  (-2.34% of the target)", "usage")
    assert values["cached"] == ("1,024  (25.6% of the prompt)", "usage")
    assert values["reasoning"] == ("–", "not reported")
    assert values["cost"] == ("0.00667 CNY", "formula")
    assert values["first token (TTFT)"] == ("500.0 ms", "client clock")
    assert values["connect"] == ("12.3 ms", "client clock")
    assert values["zero_is_ambiguous"][0].startswith("A reported 0")
    assert values["new"] == ("", "")


def test_unknown_is_a_dash_and_no_price_is_said() -> None:
    values = values_of(failed(0))
    assert values["prompt"] == ("–", "not reported")
    assert values["latency"] == ("–", "not measured")
    assert values["cost"] == ("–", "no price")
    assert values["what to do"] == ("Wait a minute.", "kvtop")


def test_a_bound_on_the_cost_says_so() -> None:
    assert "at most" in values_of(sample(0, cached_tokens=None), PRICE)["cost"][0]


def test_the_failure_comes_first() -> None:
    assert groups_of(failed(0), Glyphs())[0].title == "Failure"


def test_the_timeline_is_cut_by_time() -> None:
    record = sample(0, connect_s=0.25, ttft_s=0.5, last_token_s=2.0, latency_s=2.25)
    bar, *lines = draw_timeline(record, 40, Glyphs())
    assert bar == "▒" * 4 + "░" * 8 + "█" * 24 + "╌" * 4
    assert [phase.length_s for phase in phases_of(record)] == [0.25, 0.5, 1.5, 0.25]
    assert "500.0 ms → 2.000 s" in lines[2]
    assert draw_timeline(record, 40, Glyphs(ascii=True))[0].isascii()


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"ttft_s": None, "last_token_s": None}, ["wait, no token came"]),
        ({"last_token_s": None}, ["wait for the first token", "to the end"]),
        ({"ttft_s": 0.0, "last_token_s": 0.0, "latency_s": 0.0}, None),
        ({"ttft_s": float("nan")}, None),
        ({"ttft_s": 5.0, "last_token_s": 1.0}, ["wait for the first token", "to the end"]),
        ({"ttft_s": 1e300, "last_token_s": 1e300, "latency_s": 1e300}, None),
    ],
)
def test_odd_times(changes: dict[str, Any], names: list[str] | None) -> None:
    record = sample(0, **changes)
    lines = draw_timeline(record, 40, Glyphs())
    assert not lines or len(lines[0]) in (0, 40)
    if names is not None:
        assert [phase.name for phase in phases_of(record)] == names


def test_a_running_request_has_no_timeline() -> None:
    assert draw_timeline(running(0), 40, Glyphs()) == ()


def test_long_json_is_bounded_and_says_so() -> None:
    block = json_block({"messages": "x" * 100_000})
    assert len(block) < JSON_LIMIT + 100
    assert "more characters" in block


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_it_scrolls_copies_and_closes(size: tuple[int, int]) -> None:
    app = DetailApp(sample(0, headers={f"x-{n}": str(n) for n in range(60)}))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        top = shown_lines(app)
        assert all(cell_len(line) == size[0] for line in top)
        assert "Request 00000 cold" in top[0]
        await pilot.press("G")
        await pilot.pause()
        assert any("x-59" in line for line in shown_lines(app))
        await pilot.press("g", "j")
        await pilot.pause()
        assert shown_lines(app)[1:-1] != top[1:-1]
        await pilot.press("y")
        await pilot.pause()
        assert json.loads(app.copied[0])["headers"]["x-59"] == "59"
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is not app.detail


@pytest.mark.parametrize("payload", HOSTILE, ids=range(len(HOSTILE)))
async def test_hostile_text_is_shown_literally(payload: str) -> None:
    record = sample(
        0,
        id=payload,
        tag=payload,
        failure=Failure(payload, payload, payload),
        usage_raw={payload: payload},
        headers={payload: payload},
        notes=(payload,),
        answer_text=payload,
        usage_source=payload,
    )
    app = DetailApp(record)
    async with app.run_test(size=(90, 200)) as pilot:
        await pilot.pause()
        lines = shown_lines(app)
        await pilot.press("y")
        await pilot.pause()
    assert [unsafe for unsafe in unsafe_in("".join(lines)) if unsafe != "0x200d"] == []
    assert all(cell_len(line) == 90 for line in lines)
    assert app.copied[0].isascii()
    assert unsafe_in(app.copied[0].replace("\n", "")) == []
    if payload == "[/]":
        assert sum("[/]" in line for line in lines) >= 6


async def test_ascii_has_no_other_characters() -> None:
    app = DetailApp(failed(0, connect_s=0.1), glyphs=Glyphs(ascii=True), price=PRICE)
    async with app.run_test(size=(100, 80)) as pilot:
        await pilot.pause()
        assert "".join(line.replace("▁", "") for line in shown_lines(app)).isascii()
