"""The help: the panel that has the focus, and all keys by area."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from kvtop.ui.actions import shown_key
from kvtop.ui.drawing.glyphs import Glyph, Glyphs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult

    from kvtop.ui.actions import Action, Area

AREAS: dict[Area, str] = {
    "run": "Runs",
    "log": "Requests",
    "panel": "Panels",
    "view": "View",
    "app": "kvtop",
}

PANEL_HELP = {
    "gpus": (
        "GPUs",
        "One row a GPU: memory in use, its change since the run began, load and power. Below it the last "
        "five minutes, with the requests marked, and what is known of the engine. A dash is a value that "
        "the driver does not tell. Engines that take their whole pool at start stay flat here however long "
        "a prompt is: then the curve of tokens says more.",
    ),
    "requests": (
        "Requests",
        "One row a request, newest last. Token counts are the server's own (usage), times this client's "
        "clock. Enter shows one request whole. A dash is a count that the server did not send.",
    ),
    "curves": (
        "Curves",
        "Memory, tokens, latency and speed against the measured prompt tokens, a point a length. The line "
        "is the robust fit, the dashed one what the model's configuration predicts.",
    ),
    "findings": (
        "Findings",
        "What the analysis has to say about the run, the most severe first. Enter shows what it rests on.",
    ),
}
"""Title and text by id of the panel."""

_LIST_KEYS = (
    ("Tab", "Go on to the next panel."),
    ("Arrows", "Move in the panel that has the focus; so do PgUp and PgDn."),
    ("Enter", "Show what is selected."),
)


class HelpScreen(ModalScreen[None]):
    """All keys; what the focused panel shows comes first."""

    CSS_PATH = "../styles/help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter", "dismiss_help", "close", show=False),
        Binding("j", "scroll_lines(1)", show=False),
        Binding("k", "scroll_lines(-1)", show=False),
    ]

    def __init__(
        self, actions: tuple[Action, ...], focused: str | None = None, glyphs: Glyphs | None = None
    ) -> None:
        super().__init__()
        self._actions = actions
        self._focused = focused
        self._glyphs = glyphs or Glyphs()

    def compose(self) -> ComposeResult:
        """Show the text, scrollable."""
        with VerticalScroll(id="help"):
            yield Static(self._text(), id="help-text", markup=False)

    def on_mount(self) -> None:
        """Let the arrow keys scroll at once."""
        box = self.query_one("#help")
        box.border_title = Content("Help")
        box.border_subtitle = Content("Esc closes")
        box.focus()

    def action_dismiss_help(self) -> None:
        """Close."""
        self.dismiss(None)

    def action_scroll_lines(self, lines: int) -> None:
        """Scroll by lines."""
        self.query_one("#help").scroll_relative(y=lines)

    def _text(self) -> Content:
        blocks = [*self._about_panel(), *self._keys()]
        return Content("\n").join(blocks)

    def _about_panel(self) -> Iterator[Content]:
        if self._focused in PANEL_HELP:
            title, text = PANEL_HELP[self._focused]
            yield Content.styled(title, "bold $primary")
            yield Content(text)
            yield Content("")

    def _keys(self) -> Iterator[Content]:
        for area, title in AREAS.items():
            yield Content.styled(title, "bold $primary")
            for action in self._actions:
                if action.area == area:
                    yield _line(
                        " ".join(map(shown_key, action.keys)) or self._glyphs[Glyph.UNKNOWN],
                        action.help,
                        action.id,
                    )
            yield Content("")
        yield Content.styled("Everywhere", "bold $primary")
        for keys, text in _LIST_KEYS:
            yield _line(keys, text)
        yield Content("")
        yield Content.styled('Keys are remapped by id in config.toml:  [keys]  scan = "f2"', "$muted")


def _line(keys: str, text: str, action_id: str = "") -> Content:
    return Content.assemble(
        (f"  {keys:<9}", "bold $footer-key-foreground"), (f" {action_id:<12}", "$muted"), text
    )
