"""One finding in full: what was found, what to do about it, what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.table import Table
from rich.text import Text
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from kvtop.ui.drawing.glyphs import Glyph, Glyphs
from kvtop.ui.evidence import evidence_rows
from kvtop.ui.severity import severity_mark

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from kvtop.model.finding import Finding


_UNICODE = Glyphs()


class FindingDetail(ModalScreen[None]):
    """Shows a finding until Esc, Enter or q."""

    CSS_PATH = "../styles/finding_detail.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "leave", "close", show=False),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
    ]

    def __init__(self, finding: Finding, glyphs: Glyphs = _UNICODE) -> None:
        super().__init__(classes="-ascii" if glyphs.ascii else None)
        self.finding = finding
        self.glyphs = glyphs

    def compose(self) -> ComposeResult:
        """Show what there is: a hint and evidence are not always."""
        finding = self.finding
        with VerticalScroll(id="finding"):
            yield Static(Content(self.glyphs.shown(finding.text)), id="finding-text")
            if finding.hint:
                arrow = self.glyphs[Glyph.HINT]
                yield Static(Content(f"{arrow} {self.glyphs.shown(finding.hint)}"), id="finding-hint")
            if rows := evidence_rows(finding.evidence):
                yield Static(self._table(rows), id="finding-evidence")

    def on_mount(self) -> None:
        """Name the finding in the border."""
        box = self.query_one("#finding", VerticalScroll)
        mark = severity_mark(self.finding.severity, self.glyphs).rstrip()
        box.border_title = Content.assemble(mark, f" {self.glyphs[Glyph.SEPARATOR]} {self.finding.code}")
        box.border_subtitle = Content("Esc goes back")
        box.focus()

    def action_leave(self) -> None:
        """Go back."""
        self.dismiss(None)

    def action_move(self, step: int) -> None:
        """Scroll by rows."""
        self.query_one("#finding", VerticalScroll).scroll_relative(y=step, animate=False)

    def _table(self, rows: tuple[tuple[str, str], ...]) -> Table:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), expand=True)
        table.add_column(ratio=2)
        table.add_column(ratio=3)
        for name, value in rows:
            table.add_row(Text(self.glyphs.shown(name), style="bold"), Text(self.glyphs.shown(value)))
        return table
