"""The dialog that plans a length scan and says what it costs before it starts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar, cast

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label, Static

from kvtop.settings.keys import PREFIXES
from kvtop.ui.drawing.glyphs import Glyph, Glyphs
from kvtop.ui.profile_choices import ProfileChoice, read_choices, unread
from kvtop.ui.scan_form import NAMES, Checked, Typed, check, lengths_text
from kvtop.ui.scan_request import ScanRequest
from kvtop.ui.scan_summary import answer_hint, summary_lines
from kvtop.ui.scan_time import Pace, Target, earlier_pace
from kvtop.ui.widgets.choice_field import ChoiceField
from kvtop.ui.widgets.target_list import TargetList

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.app import ComposeResult
    from textual.widget import Widget

    from kvtop.model.plan import Prefix
    from kvtop.providers.store import ProfileEntry
    from kvtop.settings.config import Settings

_LONGEST_INPUT = 300


class ScanDialog(ModalScreen[ScanRequest | None]):
    """Returns the scan that the user wants, or None. Nothing is sent from here."""

    CSS_PATH = "../styles/scan_dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "start", "start", show=False),
        Binding("escape", "cancel", "cancel", show=False),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]

    def __init__(
        self,
        settings: Settings,
        profiles: Sequence[ProfileEntry],
        demo: str | None = None,
        *,
        environ: Mapping[str, str] = os.environ,
        glyphs: Glyphs | None = None,
    ) -> None:
        super().__init__()
        self._settings = settings
        self._entries = tuple(profiles)
        self._demo = demo
        self._environ = environ
        self._glyphs = glyphs or Glyphs(ascii=settings.ui.ascii)
        self._checked = Checked()
        self._asked_for: Target | None = None
        self._pace: Pace | None = None

    def compose(self) -> ComposeResult:
        """Lay out the fields."""
        scan = self._settings.scan
        with Vertical(id="scan"):
            yield TargetList(unread(self._entries), self._glyphs, id="target")
            yield self._row("base_url", placeholder="http://127.0.0.1:8000")
            yield self._row("model", "key_env", placeholder="the server's only one")
            yield self._row("lengths", value=lengths_text(scan.lengths))
            with Horizontal(classes="row"):
                yield from self._field("repeats", value=str(scan.repeats))
                yield Label("Prefix", classes="second")
                yield ChoiceField(PREFIXES, scan.prefix, self._glyphs, id="prefix")
            yield self._row(
                "max_tokens", "budget", placeholder=answer_hint(self._settings.requests.max_tokens)
            )
            yield Static(id="summary", markup=False)
            yield Static(id="problem", markup=False)
            with Horizontal(id="buttons"):
                yield Button("Start", id="start", variant="primary", compact=True)
                yield Button("Cancel", id="cancel", compact=True)

    def on_mount(self) -> None:
        """Offer the endpoints and read what the profiles say."""
        box = self.query_one("#scan")
        box.border_title = Content("Length scan")
        box.border_subtitle = Content("Enter starts, Esc cancels")
        target = self.query_one(TargetList)
        target.begin(self._settings.profile, self._demo)
        target.focus()
        self._read_profiles()

    def on_input_changed(self) -> None:
        """Check what is typed."""
        self._check()

    def on_choice_field_changed(self) -> None:
        """Check the other choice."""
        self._check()

    def on_option_list_option_highlighted(self) -> None:
        """Take the endpoint under the cursor."""
        self._check()

    def on_option_list_option_selected(self) -> None:
        """Start."""
        self.action_start()

    def on_input_submitted(self) -> None:
        """Start."""
        self.action_start()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Start, or leave."""
        if event.button.id == "start":
            self.action_start()
        else:
            self.action_cancel()

    def action_start(self) -> None:
        """Return the request; where something is wrong, go there."""
        if self._checked.request is not None:
            self.dismiss(self._checked.request)
        elif self._checked.problems:
            self.query_one(f"#{next(iter(self._checked.problems))}").focus()

    def action_cancel(self) -> None:
        """Leave without a scan."""
        self.dismiss(None)

    def _row(self, *names: str, value: str = "", placeholder: str = "") -> Horizontal:
        first, *others = names
        fields = [*self._field(first, value=value, placeholder=placeholder)]
        for name in others:
            fields += self._field(name, placeholder="none", second=True)
        return Horizontal(*fields, id=f"row-{first}", classes="row")

    def _field(
        self, name: str, *, value: str = "", placeholder: str = "", second: bool = False
    ) -> tuple[Widget, Widget]:
        label = Label(NAMES[name], classes="second" if second else "first")
        shown = self._glyphs.shown(placeholder)
        return label, Input(value, shown, id=name, compact=True, max_length=_LONGEST_INPUT)

    def _typed(self) -> Typed:
        texts = {name: self.query_one(f"#{name}", Input).value for name in NAMES if name != "target"}
        target = self.query_one(TargetList)
        prefix = cast("Prefix", self.query_one(ChoiceField).value)
        return Typed(choice=target.choice, demo=target.demo, prefix=prefix, **texts)

    def _check(self) -> None:
        """Read all fields anew and show what they come to."""
        typed = self._typed()
        self._checked = check(typed, self._environ, self._settings.requests.max_tokens)
        is_url = typed.choice is None and typed.demo is None
        self.query_one("#row-base_url").display = is_url
        self.query_one("#row-model").display = is_url
        for name in NAMES:
            self.query_one(f"#{name}").set_class(name in self._checked.problems, "-bad")
        self._look_for_pace()
        self._show()

    def _show(self) -> None:
        problems = list(self._checked.problems.values())
        warning = self._glyphs[Glyph.WARNING]
        shown = self._glyphs.shown(f"{warning} {problems[0]}") if problems else ""
        self._update("#problem", Content(shown))
        self._update("#summary", summary_lines(self._checked, self._pace, self._glyphs))
        self.query_one("#start", Button).disabled = self._checked.request is None

    def _update(self, selector: str, content: Content) -> None:
        widget = self.query_one(selector, Static)
        if widget.content != content:
            widget.update(content)

    def _look_for_pace(self) -> None:
        target = self._checked.target
        if target != self._asked_for:
            self._asked_for, self._pace = target, None
            if target is not None:
                self._find_pace(target)

    @work(thread=True, group="scan-pace", exit_on_error=False)
    def _find_pace(self, target: Target) -> None:
        pace = earlier_pace(self._settings.runs.dir, target)
        self.call_later(self._take_pace, target, pace)

    def _take_pace(self, target: Target, pace: Pace | None) -> None:
        if target == self._asked_for:
            self._pace = pace
            self._show()

    @work(thread=True, group="scan-profiles", exit_on_error=False)
    def _read_profiles(self) -> None:
        self.call_later(self._take_choices, read_choices(self._entries, self._environ))

    def _take_choices(self, choices: tuple[ProfileChoice, ...]) -> None:
        self.query_one(TargetList).show(choices)
        self._check()
