"""The rows of the request log: only what is in view is formatted, only what changed is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.message import Message

from kvtop.ui.drawing.glyphs import Glyph
from kvtop.ui.requests.cells import cell_text, fit, title_text
from kvtop.ui.requests.columns import place_columns
from kvtop.ui.requests.scroll import ScrollPlace
from kvtop.ui.widgets.painted_lines import PaintedLines, joined

if TYPE_CHECKING:
    from textual import events

    from kvtop.model.endpoint import Price
    from kvtop.ui.drawing.glyphs import Glyphs
    from kvtop.ui.requests.loader import RowLoader
    from kvtop.ui.requests.log_row import LogRow
    from kvtop.ui.requests.row_view import RowView
    from kvtop.ui.widgets.painted_lines import Line

_CURSOR_WIDTH = 2
_WHEEL_ROWS = 3


class RequestTable(PaintedLines):
    """A fixed line of titles and a window on the rows.

    It is no `ScrollView`: there each new row is a new virtual size, which lays the whole screen out again.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "painted--title",
        "painted--ok",
        "painted--failed",
        "painted--running",
        "painted--unreadable",
        "painted--cursor",
    }
    DEFAULT_CSS = """
    RequestTable {
        height: 1fr;
        & > .painted--title { color: $muted; text-style: bold; }
        & > .painted--ok { color: $success; }
        & > .painted--failed { color: $error; }
        & > .painted--running { color: $accent; }
        & > .painted--unreadable { color: $warning; }
        & > .painted--cursor {
            color: $block-cursor-blurred-foreground;
            background: $block-cursor-blurred-background;
            text-style: $block-cursor-blurred-text-style;
        }
    }
    RequestTable.-focus > .painted--cursor {
        color: $block-cursor-foreground;
        background: $block-cursor-background;
        text-style: $block-cursor-text-style;
    }
    """

    class Moved(Message):
        """Another row is selected, or other rows are in view."""

    class Opened(Message):
        """The selected row is to be shown in full."""

    def __init__(self, view: RowView, glyphs: Glyphs, loader: RowLoader, price: Price | None = None) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._loader = loader
        self._price = price
        self._hint = ""
        self.view = view
        self.place = ScrollPlace()

    @property
    def selected(self) -> LogRow | None:
        """The row the keys act on, None where there is none or it is not in memory."""
        if not len(self.view):
            return None
        return self.view.rows.row(self.view.number_at(self.place.cursor))

    def show_view(self, view: RowView) -> None:
        """Show other rows. The selected row stays selected where it is among them."""
        known = len(self.view) and view.rows is self.view.rows
        cursor = view.place_of(self.view.number_at(self.place.cursor)) if known else None
        self.view = view
        self.place.reset(len(view), cursor)
        self.tell()

    def rows_came(self, in_front: int = 0, at_end: int = 0) -> None:
        """Take notice that the view has grown, by old rows in front and new ones at the end."""
        self.place.grow(len(self.view), in_front, at_end)
        self.tell()

    def show_hint(self, hint: str) -> None:
        """Show a sentence while there are no rows."""
        if hint != self._hint:
            self._hint = hint
            self.repaint()

    def select(self, place: int) -> None:
        """Select the row at a place, or the nearest one."""
        self.place.go(place)
        self.tell()

    def move(self, rows: int = 0, pages: int = 0) -> None:
        """Select a row further up or down."""
        self.select(self.place.cursor + rows + pages * max(self.size.height - 2, 1))

    def tell(self) -> None:
        """Draw what has changed and say so."""
        self.repaint()
        self.post_message(self.Moved())

    def draw(self, width: int, height: int) -> list[Line]:
        """Return the titles and the rows in the window."""
        window = range(self.place.top, min(self.place.top + height - 1, len(self.view)))
        numbers = [self.view.number_at(place) for place in window]
        missing = [number for number in numbers if self.view.rows.row(number) is None]
        if missing:
            self._loader.load(self.view.rows, missing)
        columns = place_columns(width - _CURSOR_WIDTH, priced=self._price is not None)
        titles = " ".join(title_text(placed, self._glyphs, self._price) for placed in columns)
        lines: list[Line] = [((" " * _CURSOR_WIDTH + titles, "title"),)]
        lines += (self._row_line(place, number, width) for place, number in zip(window, numbers, strict=True))
        if not numbers and self._hint:
            lines += [(), ((fit(f"  {self._hint}", width, self._glyphs), "muted"),)]
        return lines[:height]

    def wanted_height(self, width: int) -> int:  # noqa: ARG002 - the base class's
        """Return a line for the titles and one for each row."""
        return 1 + len(self.view)

    def on_resize(self, event: events.Resize) -> None:
        """Keep the selected row in view; the base class draws."""
        self.place.resize(max(event.size.height - 1, 0))
        self.post_message(self.Moved())

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Move the window."""
        event.stop()
        self.place.scroll(-_WHEEL_ROWS)
        self.tell()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Move the window."""
        event.stop()
        self.place.scroll(_WHEEL_ROWS)
        self.tell()

    def on_click(self, event: events.Click) -> None:
        """Select the row under the mouse; a double click opens it."""
        place = self.place.top + event.y - 1
        if event.y < 1 or place >= len(self.view):
            return
        self.select(place)
        if event.chain > 1:
            self.post_message(self.Opened())

    def _row_line(self, place: int, number: int, width: int) -> Line:
        row = self.view.rows.row(number)
        is_cursor = place == self.place.cursor
        pieces = [(f"{self._glyphs[Glyph.CURSOR] if is_cursor else ' '} ", "text")]
        pieces += [(self._glyphs[Glyph.ELLIPSIS], "muted")] if row is None else self._cells(row, width)
        if not is_cursor:
            return joined(pieces)
        return ((fit_line("".join(text for text, _ in pieces), width), "cursor"),)

    def _cells(self, row: LogRow, width: int) -> list[tuple[str, str]]:
        if row.record is None:
            text = f"{self._glyphs[row.state.glyph]} {row.state.word}: {row.problem}"
            return [(fit(text, max(width - _CURSOR_WIDTH, 0), self._glyphs), row.state.word)]
        pieces = []
        for placed in place_columns(width - _CURSOR_WIDTH, priced=self._price is not None):
            style = row.state.word if placed.column.name == "state" else "text"
            pieces += [(cell_text(row, placed, self._glyphs, self._price), style), (" ", "text")]
        return pieces[:-1]


def fit_line(text: str, width: int) -> str:
    """Return a line filled up to the width, so that the mark of the selected row reaches across."""
    return text + " " * max(width - cell_len(text), 0)
