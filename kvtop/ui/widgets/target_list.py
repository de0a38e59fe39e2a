"""The list of what a scan can be sent to: profiles, another base URL, the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from kvtop.ui.drawing.glyphs import Glyph
from kvtop.ui.scan_summary import choice_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtop.ui.drawing.glyphs import Glyphs
    from kvtop.ui.profile_choices import ProfileChoice

DEMOS = ("growing", "paged")


class TargetList(OptionList):
    """What is under the cursor is what is meant."""

    def __init__(self, choices: Sequence[ProfileChoice], glyphs: Glyphs, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        self._choices = tuple(choices)
        self._glyphs = glyphs
        super().__init__(*self._rows(), id=id, markup=False, compact=True)

    @property
    def choice(self) -> ProfileChoice | None:
        """The profile that is meant, None for anything else."""
        place = self._place
        return self._choices[place] if place < len(self._choices) else None

    @property
    def demo(self) -> str | None:
        """The simulated engine that is meant, None for anything else."""
        after = self._place - len(self._choices)
        return DEMOS[after - 1] if after > 0 else None

    def begin(self, profile: str | None, demo: str | None) -> None:
        """Put the cursor on the simulator, that profile, or else the first good one of the user's."""
        names = [choice.name for choice in self._choices]
        if demo is not None:
            engine = DEMOS.index(demo) if demo in DEMOS else 0
            self.highlighted = len(names) + 1 + engine
        elif profile in names:
            self.highlighted = names.index(profile)
        else:
            good = (n for n, choice in enumerate(self._choices) if not choice.shipped and not choice.problem)
            self.highlighted = next(good, len(names))

    def show(self, choices: Sequence[ProfileChoice]) -> None:
        """Show the same profiles with what has been read of them."""
        place, self._choices = self._place, tuple(choices)
        self.set_options(self._rows())
        self.highlighted = place

    @property
    def _place(self) -> int:
        return self.highlighted or 0

    def _rows(self) -> list[Option]:
        simulated = self._glyphs[Glyph.SIMULATED]
        rows = [choice_row(choice, self._glyphs) for choice in self._choices]
        rows.append(Content("another base URL"))
        rows += [Content(f"{simulated} demo, {engine} engine: every number is SIMULATED") for engine in DEMOS]
        return [Option(row) for row in rows]
