"""One request whole: what was counted, when what happened, what the server said."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.table import Table
from rich.text import Text
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static

from kvtop.model.text import clean_text
from kvtop.ui.drawing.glyphs import Glyph, Glyphs
from kvtop.ui.requests.copy_text import record_text
from kvtop.ui.requests.detail import groups_of
from kvtop.ui.requests.log_row import LogRow
from kvtop.ui.requests.timeline import draw_timeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.widget import Widget

    from kvtop.model.endpoint import Price
    from kvtop.model.record import RequestRecord
    from kvtop.ui.requests.detail import Group

_UNICODE = Glyphs()
_BAR_WIDTH = 64


class RequestDetail(ModalScreen[None]):
    """Shows a request until Esc, Enter or q. Opaque, so that nothing behind it costs bytes meanwhile."""

    CSS_PATH = "../styles/request_detail.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "leave", "close", show=False),
        Binding("y,c", "copy", "copy", id="copy", show=False),
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
        Binding("g", "top", show=False),
        Binding("G", "bottom", show=False),
    ]

    class CopyAsked(Message):
        """The user wants a text in the clipboard."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, record: RequestRecord, glyphs: Glyphs = _UNICODE, price: Price | None = None) -> None:
        super().__init__(classes="-ascii" if glyphs.ascii else None)
        self.record = record
        self._glyphs = glyphs
        self._price = price

    def compose(self) -> ComposeResult:
        """Show the line of times and all groups."""
        with VerticalScroll(id="request"):
            lines = draw_timeline(self.record, _BAR_WIDTH, self._glyphs)
            if lines:
                yield Static(Content("\n".join(lines)), id="request-timeline")
            for group in groups_of(self.record, self._glyphs, self._price):
                yield from self._group(group)

    def on_mount(self) -> None:
        """Name the request in the border."""
        box = self.query_one("#request", VerticalScroll)
        state = LogRow(self.record).state
        name = clean_text(f"{self.record.id} {self.record.tag} {self.record.cell}", 60)
        separator = self._glyphs[Glyph.SEPARATOR]
        box.border_title = Content(f"Request {name} {separator} {self._glyphs[state.glyph]} {state.word}")
        box.border_subtitle = Content(f"y copies {separator} Esc goes back")
        box.focus()

    def text_to_copy(self) -> str:
        """Return the whole record as JSON."""
        return record_text(self.record)

    def action_leave(self) -> None:
        """Go back."""
        self.dismiss(None)

    def action_copy(self) -> None:
        """Ask for the record to be copied."""
        self.post_message(self.CopyAsked(self.text_to_copy()))

    def action_scroll(self, rows: int) -> None:
        """Scroll by rows."""
        self.query_one("#request", VerticalScroll).scroll_relative(y=rows, animate=False)

    def action_top(self) -> None:
        """Go to the beginning."""
        self.query_one("#request", VerticalScroll).scroll_home(animate=False)

    def action_bottom(self) -> None:
        """Go to the end."""
        self.query_one("#request", VerticalScroll).scroll_end(animate=False)

    def _group(self, group: Group) -> Iterator[Widget]:
        yield Static(Content(group.title), classes="group-title")
        if group.fields:
            yield Static(self._table(group), classes="group")
        if group.block:
            yield Static(Content(self._glyphs.shown(group.block)), classes="group")

    def _table(self, group: Group) -> Table:
        table = Table.grid(padding=(0, 2, 0, 0), expand=True)
        table.add_column(width=20)
        table.add_column(ratio=1)
        table.add_column(width=20)
        for field in group.fields:
            name, value = Text(field.name), Text(self._glyphs.shown(field.value))
            table.add_row(name, value, Text(field.origin, style="dim"))
        return table
