"""What the analysis has to say about a run, the gravest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from kvtop.ui.severity import severity_mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType

    from kvtop.model.finding import Finding
    from kvtop.ui.drawing.glyphs import Glyphs


class FindingsList(OptionList):
    """One entry a finding, its text wrapped; hint and evidence stand in the detail that Enter opens."""

    class Chosen(Message):
        """A finding is to be seen in full."""

        def __init__(self, finding: Finding) -> None:
            super().__init__()
            self.finding = finding

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "down", show=False),
        Binding("k", "cursor_up", "up", show=False),
    ]
    DEFAULT_CSS = """
    FindingsList, FindingsList:focus { border: none; padding: 0; background: transparent; }
    """

    def __init__(
        self,
        glyphs: Glyphs,
        *,
        id: str | None = None,  # noqa: A002  Textual's name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes, markup=False)
        self.glyphs = glyphs
        self.findings: tuple[Finding, ...] = ()

    def show(self, findings: Sequence[Finding]) -> None:
        """Show findings in the order given. The cursor stays on the finding it was on."""
        if tuple(findings) == self.findings:
            return
        under_cursor = None if self.highlighted is None else self.findings[self.highlighted].code
        self.findings = tuple(findings)
        self.set_options([Option(self._line(finding)) for finding in self.findings])
        codes = [finding.code for finding in self.findings]
        if under_cursor in codes:
            self.highlighted = codes.index(under_cursor)
        elif self.has_focus:
            self._begin()

    def on_focus(self) -> None:
        """Put the cursor on a finding, so that Enter has something to open."""
        self._begin()

    def _begin(self) -> None:
        if self.highlighted is None and self.findings:
            self.highlighted = 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Tell which finding was chosen."""
        event.stop()
        self.post_message(self.Chosen(self.findings[event.option_index]))

    def _line(self, finding: Finding) -> Content:
        return Content.assemble(
            severity_mark(finding.severity, self.glyphs), "  ", self.glyphs.shown(finding.text)
        )
