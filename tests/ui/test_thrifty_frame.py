"""What is sent to the terminal must leave it with the picture that Textual's own bytes would."""

from __future__ import annotations

from io import StringIO

import pyte
from hypothesis import given
from hypothesis import strategies as st
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from kvtop.ui.thrifty_frame import ThriftyFrame

WIDTH, HEIGHT = 12, 3
STYLES = ["", "red", "#102030 on #405060", "bold", "bold red on blue", "underline", "reverse", "dim italic"]
TEXTS = [" ", "   ", "a", "b c", "界", "é界x", "e\u0301", "─" * 4]

Line = list[tuple[str, str]]
lines = st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(STYLES)), max_size=6)
frames = st.lists(lines, min_size=HEIGHT, max_size=HEIGHT)


class Terminal:
    def __init__(self) -> None:
        self.screen = pyte.Screen(WIDTH + 1, HEIGHT)  # pyte wraps before a combining mark in the last column
        self._stream = pyte.Stream(self.screen)

    def write(self, data: str) -> None:
        self._stream.feed(data)

    def picture(self) -> list[list[object]]:
        return [[seen(self.screen.buffer[y][x]) for x in range(WIDTH)] for y in range(HEIGHT)]


def seen(cell: pyte.screens.Char) -> object:
    """What a person can see of a cell: of a blank only its ground."""
    if cell.data == " " and not (cell.underscore or cell.reverse or cell.strikethrough):
        return cell.bg
    return cell


def strip_of(line: Line, width: int = WIDTH) -> Strip:
    strip = Strip([Segment(text, Style.parse(style)) for text, style in line])
    return strip.adjust_cell_length(width, Style.null())


def full(frame: list[Line]) -> LayoutUpdate:
    return LayoutUpdate([[strip_of(line)] for line in frame], Region(0, 0, WIDTH, HEIGHT))


def partial(y: int, x: int, line: Line) -> ChopsUpdate:
    """Return an update of one line from a column on."""
    chops: list[dict[int, Strip | None]] = [{0: None, x: None} for _ in range(HEIGHT)]
    chops[y] = {0: None, x: strip_of(line, WIDTH - x)}
    return ChopsUpdate(chops, [(y, x, WIDTH)], [[x, WIDTH]] * HEIGHT)


def console() -> Console:
    return Console(file=StringIO(), color_system="truecolor", force_terminal=True)


@given(first=frames, second=frames)
def test_terminal_shows_what_textual_would_have_drawn(first: list[Line], second: list[Line]) -> None:
    frame, thrifty, plain = ThriftyFrame(), Terminal(), Terminal()
    for update in map(full, (first, second, first)):
        thrifty.write(frame.send(update, ColorSystem.TRUECOLOR))
        plain.write("\x1b[H\x1b[2J" + update.render_segments(console()).replace("\n", "\r\n"))
        assert thrifty.picture() == plain.picture()


@given(frame=frames, line=lines, y=st.integers(0, HEIGHT - 1))
def test_part_of_a_line_is_put_where_it_belongs(frame: list[Line], line: Line, y: int) -> None:
    sent, thrifty, whole = ThriftyFrame(), Terminal(), Terminal()
    frame[y] = [("......", ""), *frame[y]]
    thrifty.write(sent.send(full(frame), ColorSystem.TRUECOLOR))
    thrifty.write(sent.send(partial(y, 6, line), ColorSystem.TRUECOLOR))
    frame[y] = [("......", ""), *line]
    whole.write(ThriftyFrame().send(full(frame), ColorSystem.TRUECOLOR))
    assert thrifty.picture() == whole.picture()


def test_nothing_is_sent_twice_until_forgotten() -> None:
    frame = ThriftyFrame()
    update = full([[("a", "red")]] * HEIGHT)
    first = frame.send(update, ColorSystem.TRUECOLOR)
    assert frame.send(update, ColorSystem.TRUECOLOR) == ""
    frame.forget()
    assert frame.send(update, ColorSystem.TRUECOLOR) == first


def test_part_of_an_unknown_line_leaves_the_rest_of_it_alone() -> None:
    terminal = Terminal()
    terminal.write("old words")
    terminal.write(ThriftyFrame().send(partial(0, 6, [("new", "")]), ColorSystem.TRUECOLOR))
    assert terminal.screen.display[0].rstrip() == "old wonew"


def test_unchanged_style_is_not_named_again() -> None:
    frame = ThriftyFrame()
    sent = frame.send(full([[("a", "red"), (" ", ""), ("b", "red")], [], []]), ColorSystem.TRUECOLOR)
    assert sent.count("31") == 1


def test_what_is_no_update_of_a_screen_passes_as_it_is() -> None:
    frame = ThriftyFrame()
    assert frame.thrifty(None) is None
    assert frame.thrifty("words") == "words"
