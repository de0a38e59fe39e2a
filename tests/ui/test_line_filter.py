from __future__ import annotations

import sys
import unicodedata
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import App
from textual.color import Color
from textual.content import Content
from textual.widgets import DataTable, Input, Label, Log, OptionList, RichLog, Static, TextArea

from kvtop.ui.line_filter import ControlFilter, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.app import ComposeResult
    from textual.filter import LineFilter

BLACK = Color(0, 0, 0)

HOSTILE = [
    "\x1b]0;owned\x07",
    "\x1b]52;c;ZXZpbA==\x1b\\",
    "\x1b[2J\x1b[H",
    "\x1b[31mred",
    "\x1bP1$r\x1b\\",
    "\x9b2J",
    "\x9d0;owned\x9c",
    "a\x00b",
    "a\x07\x08\x0d\x7fb",
    "safe\u202egnp.exe",
    "\u2066iso\u2069",
    "zero\u200bwidth\ufeff",
    "line\u2028para\u2029",
    "lone\ud800surrogate",
    "soft\xadhyphen",
    "tag\U000e0041\U000e007f",
]


def unsafe_in(text: str) -> list[str]:
    return [hex(ord(c)) for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]


@pytest.mark.parametrize("payload", HOSTILE, ids=ascii)
def test_nothing_a_terminal_acts_on_is_left(payload: str) -> None:
    assert unsafe_in(payload)
    [segment] = ControlFilter().apply([Segment(payload)], BLACK)
    assert unsafe_in(segment.text) == []
    assert cell_len(segment.text) == cell_len(payload)


def test_every_unsafe_character_of_unicode() -> None:
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    assert set(unsafe_in(printable(everything))) == {"0x200c", "0x200d"}


@pytest.mark.parametrize(
    "text", ["", "plain", "größer", "非常好", "⠿⣿█░", "👩\u200d💻", "می\u200cخواهم", "a\u00a0b", "e\u0301"]
)
def test_text_for_people_passes(text: str) -> None:
    [segment] = ControlFilter().apply([Segment(text)], BLACK)
    assert segment.text == text


def test_a_clean_line_is_returned_as_it_is() -> None:
    line = [Segment("GPU 0 "), Segment("████", Style(color="red")), Segment("", None)]
    assert ControlFilter().apply(line, BLACK) is line


def test_styles_and_neighbours_stay() -> None:
    style = Style(bold=True)
    line = [Segment("ok"), Segment("a\x1bb", style)]
    assert ControlFilter().apply(line, BLACK) == [Segment("ok"), Segment("ab", style)]


def test_an_address_of_a_link_that_holds_an_escape_goes() -> None:
    bad = Style(link="http://x/\x1b\\\x1b]0;owned\x07", bold=True)
    good = Style(link="http://x/")
    shown = ControlFilter().apply([Segment("here", bad), Segment("there", good)], BLACK)
    assert shown[0].style is not None
    assert (shown[0].style.link, shown[0].style.bold) == (None, True)
    assert shown[1].style == good


class HostileApp(App[None]):
    """Shows each payload in every widget that takes text, without cleaning it."""

    def get_line_filters(self) -> Sequence[LineFilter]:
        return (*super().get_line_filters(), ControlFilter())

    def compose(self) -> ComposeResult:
        text = " ".join(HOSTILE).replace("\ud800", "")
        framed = Static("framed")
        framed.styles.border = ("round", "red")
        framed.border_title = Content(text)
        framed.border_subtitle = Content(text)
        yield framed
        yield Static(text, markup=False)
        yield Static(Text(text))
        yield Label(Content(text))
        yield OptionList(text, markup=False)
        yield Input(text)
        yield TextArea(text)
        yield Log()
        yield RichLog()
        yield DataTable()

    def on_mount(self) -> None:
        text = " ".join(HOSTILE).replace("\ud800", "")
        self.query_one(Log).write_line(text)
        self.query_one(RichLog).write(Text(text))
        table = self.query_one(DataTable)
        table.add_column(Text(text))
        table.add_row(Text(text))
        self.notify(text, markup=False)
        for widget in self.query("Screen > *"):
            widget.styles.height = 3


def drawn(app: App[None]) -> Iterable[str]:
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips]


async def test_no_widget_lets_them_through() -> None:
    app = HostileApp()
    async with app.run_test(size=(160, 50), notifications=True) as pilot:
        await pilot.pause()
        lines = list(drawn(app))
    assert sum("owned" in line for line in lines) >= 10
    assert [line for line in lines if unsafe_in(line)] == []


async def test_without_the_filter_they_do_get_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HostileApp, "get_line_filters", App.get_line_filters)
    app = HostileApp()
    async with app.run_test(size=(160, 50)) as pilot:
        await pilot.pause()
        assert [line for line in drawn(app) if unsafe_in(line)]
