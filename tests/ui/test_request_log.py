from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

import pytest
from rich.cells import cell_len
from textual.events import MouseScrollUp
from textual.widgets import Input

from kvtop.model.endpoint import Price
from kvtop.model.failure import Failure
from kvtop.ui.drawing.glyphs import Glyphs
from kvtop.ui.requests.cells import fit, shown_cost, shown_count, shown_seconds
from kvtop.ui.requests.columns import COLUMNS, place_columns
from tests.ui.request_samples import HOSTILE, LogApp, failed, running, sample, samples, unsafe_in, write_log

if TYPE_CHECKING:
    from pathlib import Path

    from textual.binding import BindingType

PRICE = Price("CNY", 2.0, 0.2, 8.0)
SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.mark.parametrize("size", SIZES)
async def test_the_newest_rows_fill_the_window_below_a_fixed_header(size: tuple[int, int]) -> None:
    app = LogApp()
    async with app.run_test(size=size) as pilot:
        app.requests.add(samples(500))
        await app.settle(pilot)
        lines = app.lines
    assert all(cell_len(line) == size[0] for line in lines)
    assert lines[0].split()[:2] == ["time", "tag"]
    assert "4,499" in lines[-2]
    assert lines[-2].startswith("❯ ")
    assert f"{4500 - (size[1] - 2):,}" in lines[1]
    assert "following" in lines[-1]
    assert "500/500" in lines[-1]


@pytest.mark.parametrize(
    ("width", "there", "gone"),
    [
        (
            78,
            {"time", "tag", "prompt", "cached", "out", "ttft", "speed", "latency", "state"},
            {"target", "cost"},
        ),
        (116, {"target", "reasoning", "cost"}, {"dialect", "run"}),
        (196, {"connect", "dialect", "run"}, set()),
    ],
)
def test_columns_collapse_and_come_back(width: int, there: set[str], gone: set[str]) -> None:
    names = {placed.column.name for placed in place_columns(width)}
    assert there <= names
    assert not gone & names


@pytest.mark.parametrize("width", range(1, 260))
def test_columns_never_take_more_than_there_is(width: int) -> None:
    placed = place_columns(width)
    assert len(placed) == 1 or sum(one.width + 1 for one in placed) - 1 <= width
    assert {one.column for one in placed} <= set(COLUMNS)


def test_costs_stay_on_a_narrow_screen_where_there_are_prices() -> None:
    assert "cost" in {placed.column.name for placed in place_columns(76, priced=True)}


async def test_states_have_a_glyph_and_a_word_and_unknown_is_a_dash() -> None:
    app = LogApp()
    async with app.run_test(size=(160, 12)) as pilot:
        app.requests.add((sample(0), failed(1), running(2)))
        await app.settle(pilot)
        _, ok, bad, going = app.lines[:4]
    assert "✓ ok" in ok
    assert "✗ failed rate_limit" in bad
    assert "▸ running…" in going
    assert bad.split()[3:8] == ["–"] * 5


async def test_ascii_has_no_other_characters() -> None:
    app = LogApp(ascii_only=True)
    async with app.run_test(size=(120, 12)) as pilot:
        app.requests.add((sample(0), failed(1), running(2)))
        await app.settle(pilot)
        assert "".join(app.lines).isascii()


async def test_a_record_seen_before_takes_its_place() -> None:
    app = LogApp()
    async with app.run_test(size=(120, 12)) as pilot:
        app.requests.add((sample(0), running(1), sample(2)), run_id="a")
        app.requests.add((sample(1),), run_id="a")
        app.requests.add((sample(1),), run_id="b")
        await app.settle(pilot)
        lines = app.lines
    assert ["✓ ok" in line for line in lines[1:5]] == [True] * 4
    assert app.requests.position.total == 4


async def test_replace_begins_again() -> None:
    app = LogApp()
    async with app.run_test(size=(120, 12)) as pilot:
        app.requests.add(samples(50))
        app.requests.add(samples(2, start=90), replace=True)
        await app.settle(pilot)
        assert app.requests.position.total == 2
        assert "4,090" in app.lines[1]


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        (["up"], 99),
        (["k", "k"], 98),
        (["up", "down"], 100),
        (["g"], 1),
        (["home", "j"], 2),
        (["pageup"], 92),
        (["g", "pagedown"], 9),
        (["g", "end"], 100),
        (["g", "G"], 100),
        (["g", "up"], 1),
        (["down"], 100),
    ],
)
async def test_keys_select(keys: list[str], place: int) -> None:
    app = LogApp()
    async with app.run_test(size=(100, 11)) as pilot:
        app.requests.add(samples(100))
        await pilot.press(*keys)
        await app.settle(pilot)
        assert app.requests.position.place == place
        assert app.requests.follow is (place == 100)
        [marked] = [line for line in app.lines if line.startswith("❯")]
        assert f"{3999 + place:,}" in marked


async def test_new_rows_below_are_counted_until_the_end_key() -> None:
    app = LogApp()
    async with app.run_test(size=(100, 12)) as pilot:
        app.requests.add(samples(100))
        await pilot.press("up", "pageup")
        app.requests.add(samples(7, start=100))
        await app.settle(pilot)
        before = app.lines
        assert app.requests.position.unseen == 7
        assert "7 new below" in before[-1]
        await pilot.press("end")
        await app.settle(pilot)
        assert app.requests.follow
        assert "new below" not in app.lines[-1]
        assert "4,106" in app.lines[-2]


async def test_follow_can_be_set_from_outside() -> None:
    app = LogApp()
    async with app.run_test(size=(100, 12)) as pilot:
        app.requests.add(samples(100))
        app.requests.follow = False
        app.requests.add(samples(30, start=100))
        await app.settle(pilot)
        assert app.requests.position.place == 100
        app.requests.follow = True
        await app.settle(pilot)
        assert app.requests.position.place == 130


async def test_nothing_is_written_when_nothing_changed() -> None:
    app = LogApp()
    async with app.run_test(size=(120, 20)) as pilot:
        app.requests.add(samples(100))
        await pilot.press("g")
        await app.settle(pilot)
        app.written.clear()
        app.requests.add(samples(100))
        app.requests.add(())
        app.requests.filter("")
        app.requests.follow = False
        await app.settle(pilot)
        assert "".join(app.written) == ""


async def test_a_row_out_of_view_writes_only_the_counter() -> None:
    app = LogApp()
    async with app.run_test(size=(120, 20)) as pilot:
        app.requests.add(samples(100))
        await pilot.press("g")
        app.requests.add((sample(100),))
        await app.settle(pilot)
        app.written.clear()
        app.requests.add((sample(101),))
        await app.settle(pilot)
        written = "".join(app.written)
    # Counted in lines: how long a colour's code is depends on what Rich has met in this process before.
    assert re.findall(r"\x1b\[(\d+);\d+H", written) == ["20"]
    assert "cold" not in written


async def test_moving_writes_two_rows() -> None:
    app = LogApp()
    async with app.run_test(size=(120, 40)) as pilot:
        app.requests.add(samples(100))
        await pilot.press("up")
        await app.settle(pilot)
        app.written.clear()
        await pilot.press("up")
        await app.settle(pilot)
        assert len("".join(app.written)) < 2 * 120 + 200


async def test_enter_chooses_and_so_does_a_double_click() -> None:
    app = LogApp()
    async with app.run_test(size=(120, 12)) as pilot:
        app.requests.add(samples(5))
        await pilot.press("up", "enter")
        await pilot.click(app.requests.table, offset=(4, 1), times=2)
        await app.settle(pilot)
    assert [record.id for record in app.chosen] == ["00003", "00000"]


async def test_enter_on_an_empty_log_does_nothing() -> None:
    app = LogApp()
    async with app.run_test(size=(120, 12)) as pilot:
        await pilot.press("enter", "up", "end", "pageup")
        assert app.chosen == []
        assert app.requests.text_to_copy() is None


async def test_the_wheel_moves_the_window() -> None:
    app = LogApp()
    async with app.run_test(size=(120, 12)) as pilot:
        app.requests.add(samples(100))
        await app.settle(pilot)
        for _ in range(2):
            await pilot._post_mouse_events([MouseScrollUp], app.requests.table, button=0)
        await app.settle(pilot)
        assert not app.requests.follow
        assert "4,093" in app.lines[-2]


async def test_typing_filters_and_escape_brings_all_back() -> None:
    app = LogApp()
    async with app.run_test(size=(120, 12)) as pilot:
        app.requests.add((*samples(6), failed(6)))
        await pilot.press("slash", *"failed")
        await app.settle(pilot)
        assert (app.requests.position.shown, app.requests.position.total) == (1, 7)
        assert "rate_limit" in app.lines[1]
        await pilot.press("enter")
        assert app.focused is app.requests
        await pilot.press("escape")
        await app.settle(pilot)
        assert app.requests.position.shown == 7
        assert not any(line.startswith("/") for line in app.lines)


async def test_escape_is_left_to_others_without_a_filter() -> None:
    heard = []

    class Host(LogApp):
        BINDINGS: ClassVar[list[BindingType]] = [("escape", "heard", "")]

        def action_heard(self) -> None:
            heard.append(1)

    app = Host()
    async with app.run_test(size=(120, 12)) as pilot:
        app.requests.add(samples(3))
        await pilot.press("escape")
        assert heard == [1]
        app.requests.filter("cold")
        await app.settle(pilot)
        await pilot.press("escape")
        assert heard == [1]


async def test_a_mistake_is_said_in_the_line_and_the_rest_of_the_filter_holds() -> None:
    app = LogApp()
    async with app.run_test(size=(140, 12)) as pilot:
        app.requests.add(samples(6))
        app.requests.filter("tag:cold promt>8k [/]")
        await app.settle(pilot)
        bar = next(line for line in app.lines if line.startswith("/"))
        assert "did you mean prompt?" in bar
        app.requests.filter("tag:cold")
        await app.settle(pilot)
        assert app.requests.position.shown == 3


async def test_new_and_changed_rows_pass_the_filter() -> None:
    app = LogApp()
    async with app.run_test(size=(120, 14)) as pilot:
        app.requests.add((sample(0), running(1), sample(2)))
        app.requests.filter("failed")
        await app.settle(pilot)
        assert app.requests.position.shown == 0
        assert "No request matches" in "".join(app.lines)
        app.requests.add((failed(1), sample(3), failed(4)))
        await app.settle(pilot)
        assert app.requests.position.shown == 2
        app.requests.add((sample(1),))
        await app.settle(pilot)
        assert app.requests.position.shown == 1


async def test_the_selected_row_stays_selected_through_a_filter() -> None:
    app = LogApp()
    async with app.run_test(size=(120, 12)) as pilot:
        app.requests.add(samples(60))
        await pilot.press("g", "down", "down", "down", "down")
        app.requests.filter("tag:cold")
        await app.settle(pilot)
        assert app.requests.selected == sample(4)
        app.requests.filter("")
        await app.settle(pilot)
        assert app.requests.selected == sample(4)


@pytest.mark.parametrize("payload", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("size", [(80, 24), (200, 20)])
async def test_hostile_text_is_shown_literally_and_within_its_cells(
    payload: str, size: tuple[int, int]
) -> None:
    app = LogApp()
    record = sample(1, tag=payload, model=payload, dialect=payload, cell=payload)
    bad = failed(2, failure=Failure(payload, payload, payload), tag=payload)
    async with app.run_test(size=size) as pilot:
        app.requests.add((sample(0), record, bad), run_id=payload)
        app.requests.filter("!nothing-like-it")
        await app.settle(pilot)
        lines = app.lines
    assert [unsafe for unsafe in unsafe_in("".join(lines)) if unsafe != "0x200d"] == []
    assert all(cell_len(line) == size[0] for line in lines)
    assert "✓ ok" in lines[1]
    if payload == "[/]":
        assert "[/]" in lines[2]


async def test_a_pasted_filter_with_markup_is_only_a_word() -> None:
    app = LogApp()
    async with app.run_test(size=(120, 12)) as pilot:
        app.requests.add(samples(3))
        app.requests.filter("[/] [bold]")
        await app.settle(pilot)
        assert app.requests.position.shown == 0
        assert app.requests.query_one(Input).value == "[/] [bold]"


@pytest.mark.parametrize("size", [(20, 5), (1, 1), (5, 2), (400, 100)])
async def test_odd_sizes(size: tuple[int, int]) -> None:
    app = LogApp(PRICE)
    async with app.run_test(size=size) as pilot:
        app.requests.add(samples(30))
        await pilot.press("up", "pageup", "g", "G")
        await pilot.resize_terminal(90, 20)
        await app.settle(pilot)
        assert "4,029" in app.lines[-2]


async def test_a_file_is_shown_from_its_end_and_grows(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    write_log(path, samples(3000))
    app = LogApp()
    async with app.run_test(size=(120, 12)) as pilot:
        app.requests.open(path, "run-1")
        await app.settle(pilot)
        assert app.requests.position.shown == 3000
        assert "6,999" in app.lines[-2]
        await pilot.press("g")
        assert "4,000" in app.lines[1]
        write_log(path, samples(3001))
        app.requests.add((sample(3000),))
        await app.settle(pilot)
        assert app.requests.position.total == 3001
        assert app.requests.position.unseen == 1


async def test_a_file_is_filtered(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    write_log(path, (failed(n) if n % 100 == 0 else sample(n) for n in range(2000)))
    app = LogApp()
    async with app.run_test(size=(120, 12)) as pilot:
        app.requests.open(path)
        app.requests.filter("failed")
        await app.settle(pilot)
        assert (app.requests.position.shown, app.requests.position.total) == (20, 2000)
        app.requests.filter("prompt>5990")
        await app.settle(pilot)
        assert app.requests.position.shown == 9
        write_log(path, (*(failed(n) if n % 100 == 0 else sample(n) for n in range(2000)), sample(2000)))
        app.requests.add(())
        await app.settle(pilot)
        assert app.requests.position.shown == 10


async def test_a_file_with_an_id_again_is_opened_anew(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    write_log(path, samples(20))
    app = LogApp()
    async with app.run_test(size=(120, 30)) as pilot:
        app.requests.open(path)
        await app.settle(pilot)
        write_log(path, (*samples(20), failed(3)))
        app.requests.add(())
        await app.settle(pilot)
        await app.settle(pilot)
        assert app.requests.position.total == 20
        assert "rate_limit" in app.lines[20]


async def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    app = LogApp()
    async with app.run_test(size=(160, 12)) as pilot:
        app.requests.open(tmp_path)
        await app.settle(pilot)
        assert "Cannot read" in app.lines[-1]
        app.requests.open(tmp_path / "missing")
        await app.settle(pilot)
        assert "no rows" in app.lines[-1]


async def test_damaged_lines_are_rows_that_say_so(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    write_log(path, samples(2), end='\n{"id":"x","broken\n\n[]\n')
    app = LogApp()
    async with app.run_test(size=(160, 12)) as pilot:
        app.requests.open(path)
        await pilot.pause()
        await app.settle(pilot)
        assert app.requests.position.total == 4
        assert "unreadable: it is not JSON" in app.lines[3]
        await pilot.press("enter")
        assert app.chosen == []


def test_text_is_cut_by_cells() -> None:
    assert fit("多字节", 4, Glyphs()) == "多… "
    assert fit("plain", 8, Glyphs(), right=True) == "   plain"
    assert fit("toolong", 4, Glyphs()) == "too…"
    assert fit("x", 0, Glyphs()) == ""
    assert cell_len(fit("e" + "\u0301" * 400, 5, Glyphs())) == 5
    assert len(fit("e" + "\u0301" * 400, 5, Glyphs())) < 30


def test_numbers_fit_their_columns() -> None:
    assert shown_count(131_072) == "131,072"
    assert shown_count(1_048_576) == "1.05M"
    assert shown_count(0) == "0"
    assert shown_count(None) is None
    assert shown_seconds(0.0123) == "12 ms"
    assert shown_seconds(305.2) == "305 s"
    assert shown_seconds(86400.0) == "24.0 h"
    assert shown_seconds(float("inf")) is None


def test_a_cost_without_cached_tokens_is_marked() -> None:
    assert shown_cost(sample(0, cached_tokens=0, prompt_tokens=4000), PRICE, Glyphs()) == "0.00851"
    assert shown_cost(sample(0, cached_tokens=None, prompt_tokens=4000), PRICE, Glyphs()) == "≈0.00851"
    assert shown_cost(sample(0, cached_tokens=None), Price("USD", 2.0, None, 8.0), Glyphs()) == "0.00851"
    assert shown_cost(sample(0), None, Glyphs()) is None
    assert shown_cost(failed(0), PRICE, Glyphs()) is None
