"""The request log: of a run that is followed, or of a file of any length."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive

from kvtop.ui.requests.copy_text import record_text
from kvtop.ui.requests.filter import parse_filter
from kvtop.ui.requests.index import FileIndex
from kvtop.ui.widgets.filter_bar import FilterBar
from kvtop.ui.widgets.log_reader import LogReader
from kvtop.ui.widgets.log_status import LogPosition, LogStatus
from kvtop.ui.widgets.request_table import RequestTable

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from kvtop.model.endpoint import Price
    from kvtop.model.record import RequestRecord
    from kvtop.ui.drawing.glyphs import Glyphs

_NO_MATCH = "No request matches. Esc takes the filter away."


class RequestLog(LogReader, can_focus=True):
    """Rows, a filter line, and a line that says where in the log one is."""

    DEFAULT_CSS = "RequestLog { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", id="log.up", show=False),
        Binding("down,j", "move(1)", "down", id="log.down", show=False),
        Binding("pageup", "page(-1)", "page up", id="log.page-up", show=False),
        Binding("pagedown,space", "page(1)", "page down", id="log.page-down", show=False),
        Binding("home,g", "oldest", "oldest", id="log.oldest", show=False),
        Binding("end,G", "newest", "newest, and follow", id="log.newest", show=False),
        Binding("enter", "open", "details", id="log.open", show=False),
        Binding("slash", "ask_filter", "filter", id="filter", show=False),
        Binding("escape", "clear_filter", "all requests", id="log.clear-filter", show=False),
    ]

    follow: reactive[bool] = reactive(default=True, init=False)
    """Whether the newest request is kept in view."""

    class Chosen(Message):
        """A request is to be shown in full."""

        def __init__(self, record: RequestRecord) -> None:
            super().__init__()
            self.record = record

    def __init__(self, glyphs: Glyphs, price: Price | None = None, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(glyphs, price, id=id)
        self._price = price
        self._bar = FilterBar()
        self._status = LogStatus(glyphs)

    def compose(self) -> ComposeResult:
        """Lay out rows, filter and status."""
        yield self.table
        yield self._bar
        yield self._status

    @property
    def selected(self) -> RequestRecord | None:
        """The request the keys act on."""
        row = self.table.selected
        return row.record if row else None

    @property
    def position(self) -> LogPosition:
        """Where in the log one is, as the last line tells it."""
        return self._status.position

    def text_to_copy(self) -> str | None:
        """Return the selected request as JSON."""
        return record_text(self.selected) if self.selected else None

    def filter(self, text: str) -> None:
        """Show only the requests that match; all of them for an empty text."""
        self._bar.set_text(text)
        self._apply(text)

    def ask_filter(self) -> None:
        """Let the user type a filter."""
        self._bar.ask()

    def watch_follow(self, follow: bool) -> None:  # noqa: FBT001 - Textual's
        """Go to the newest row, or stay."""
        if self.table.place.set_follow(follow=follow):
            self.table.tell()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Leave Esc to others while there is no filter to take away."""
        return action != "clear_filter" or bool(self._bar.text)

    def action_move(self, rows: int) -> None:
        """Select another row."""
        self.table.move(rows)

    def action_page(self, pages: int) -> None:
        """Select the row a screen further."""
        self.table.move(pages=pages)

    def action_oldest(self) -> None:
        """Select the oldest row."""
        self.table.select(0)

    def action_newest(self) -> None:
        """Select the newest row and follow those to come."""
        self.table.select(len(self.table.view) - 1)

    def action_open(self) -> None:
        """Ask for the details of the selected request."""
        if self.selected is not None:
            self.post_message(self.Chosen(self.selected))

    def action_ask_filter(self) -> None:
        """Let the user type a filter."""
        self.ask_filter()

    def action_clear_filter(self) -> None:
        """Show all requests again."""
        self.filter("")

    def on_focus(self) -> None:
        """Mark the selected row as the one the keys act on."""
        self.table.add_class("-focus")

    def on_blur(self) -> None:
        """Mark it less."""
        self.table.remove_class("-focus")

    def on_filter_bar_changed(self, message: FilterBar.Changed) -> None:
        """Filter as it is typed."""
        message.stop()
        self._apply(message.text)

    def on_filter_bar_left(self, message: FilterBar.Left) -> None:
        """Give the keys back to the rows."""
        message.stop()
        self.focus()

    def on_request_table_opened(self, message: RequestTable.Opened) -> None:
        """Do as for Enter."""
        message.stop()
        self.action_open()

    def on_request_table_moved(self, message: RequestTable.Moved) -> None:
        """Tell where in the log one is."""
        message.stop()
        self.follow = self.table.place.follow
        self._status.show(self._position())
        is_vain = self.wanted is not None and not self.is_searching
        self.table.show_hint(_NO_MATCH if is_vain else "")

    def _apply(self, text: str) -> None:
        """Filter by what can be understood, and say what cannot."""
        wanted, complaint = parse_filter(text, self._price)
        self._bar.complain(complaint)
        self.search_for(wanted)
        self._status.show(self._position())

    def _position(self) -> LogPosition:
        place, shown = self.table.place, len(self.table.view)
        failure = self.rows.failure if isinstance(self.rows, FileIndex) else None
        return LogPosition(
            place=place.cursor + 1 if shown else 0,
            shown=shown,
            total=len(self.rows.span),
            unseen=place.unseen,
            follows=place.follow,
            is_filtered=self.wanted is not None,
            is_reading=not self.rows.complete,
            is_searching=self.is_searching,
            complaint=str(failure) if failure else "",
        )
