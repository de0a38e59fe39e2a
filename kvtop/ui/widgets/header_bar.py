"""The first line: which host, which engine, which profile, how fast memory is read, what time it is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from kvtop.ui.drawing.glyphs import Glyph

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtop.ui.drawing.glyphs import Glyphs

WITH_THE_NUMBERS_S = 0.05
"""How late the clock is, so that it is drawn in one go with the readings of the second."""


class HeaderBar(Horizontal):
    """One line. Its clock is a widget of its own, so that a second costs a few bytes."""

    DEFAULT_CSS = """
    HeaderBar { height: 1; padding: 0 1; background: $panel; }
    HeaderBar > #facts { width: 1fr; height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    HeaderBar > #rate { width: auto; height: 1; color: $muted; padding: 0 2; }
    HeaderBar > #clock { width: 8; height: 1; }
    """

    def __init__(self, glyphs: Glyphs, *, now: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._now = now
        self._facts = Content.styled("kvtop", "bold $primary")
        self._rate = ""
        self._clock = self._time()
        self._facts_part = Static(self._facts, id="facts", markup=False)
        self._rate_part = Static("", id="rate", markup=False)
        self._clock_part = Static(self._clock, id="clock", markup=False)

    def compose(self) -> ComposeResult:
        """Show the three parts."""
        yield from (self._facts_part, self._rate_part, self._clock_part)

    def on_mount(self) -> None:
        """Start the clock at the next full second, or when the GPUs' numbers of that second come."""
        self.set_timer(1 + WITH_THE_NUMBERS_S - self._now() % 1, self._start_clock)

    def show(
        self,
        host: str,
        path: str | None,
        engine: str | None,
        profile: str | None,
        rate_hz: float | None,
        tls_note: str | None,
        simulated: bool,  # noqa: FBT001 - the header's facts in their order
        note: str | None = None,
    ) -> None:
        """Show these facts; None leaves one out."""
        facts = self._content(host, path, engine, profile, (tls_note, note), simulated=simulated)
        if facts != self._facts:
            self._facts = facts
            self._facts_part.update(facts, layout=False)
        rate = "" if rate_hz is None else f"{rate_hz:g} Hz"
        if rate != self._rate:
            self._rate = rate
            self._rate_part.update(rate)

    def _content(
        self,
        host: str,
        path: str | None,
        engine: str | None,
        profile: str | None,
        warnings: tuple[str | None, ...],
        *,
        simulated: bool,
    ) -> Content:
        glyphs = self._glyphs
        parts: list[Content] = []
        if engine:
            parts.append(Content(engine))
        if profile:
            parts.append(Content(f"profile {profile}"))
        parts += [
            Content.styled(f"{glyphs[Glyph.WARNING]} {warning}", "$text-warning")
            for warning in warnings
            if warning
        ]
        known = Content(f" {glyphs[Glyph.SEPARATOR]} ").join(parts)
        head: list[Content] = [Content.styled("kvtop", "bold $primary"), Content(host)]
        if path:
            mark = glyphs[Glyph.LOCAL if path == "local" else Glyph.REMOTE]
            head.append(
                Content.styled(f"{mark}{path}", "$text-success" if path == "local" else "$text-accent")
            )
        if simulated:
            head.append(Content.styled(f"{glyphs[Glyph.SIMULATED]} SIMULATED", "bold $text-warning"))
        return Content("  ").join([*head, known] if known else head)

    def _start_clock(self) -> None:
        self._tick()
        self.set_interval(1.0, self._tick)

    def _tick(self) -> None:
        clock = self._time()
        if clock != self._clock:
            self._clock = clock
            self._clock_part.update(clock, layout=False)

    def _time(self) -> str:
        return time.strftime("%H:%M:%S", time.localtime(self._now()))
