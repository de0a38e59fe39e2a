"""What is known of the engine, in three lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtop.model.quantity import UNKNOWN, format_bytes, format_tokens
from kvtop.ui.drawing.glyphs import Glyph
from kvtop.ui.widgets.painted_lines import PaintedLines, fitted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvtop.ui.drawing.glyphs import Glyphs
    from kvtop.ui.messages import EngineView
    from kvtop.ui.widgets.painted_lines import Line

_NO_ENGINE = "No engine is chosen."
_HOW = 'Write profile = "NAME" into config.toml, or choose one when you scan (s).'
_COUNTERS = "from the engine's metrics, not read yet"


class EngineStrip(PaintedLines):
    """Shows an `EngineView`; None says how to get one."""

    def __init__(self, glyphs: Glyphs, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id, classes=classes)
        self._glyphs = glyphs
        self._view: EngineView | None = None

    def show(self, view: EngineView | None) -> None:
        """Show what is known now."""
        if view != self._view:
            self._view = view
            self.repaint()

    def wanted_height(self, width: int) -> int:  # noqa: ARG002 - the same at any width
        """Return three lines for an engine and two for none."""
        return 2 if self._view is None else 3

    def draw(self, width: int, height: int) -> tuple[Line, ...]:
        """Return the lines that there is room for."""
        if self._view is None:
            hint = f"{self._glyphs[Glyph.HINT]} {_HOW}"
            return (self._line(_NO_ENGINE, width, "text"), self._line(hint, width, "muted"))[:height]
        lines = (
            self._who(self._view, width),
            self._what(self._view, width),
            self._counters(self._view, width),
        )
        return lines[:height]

    def _who(self, view: EngineView, width: int) -> Line:
        mark = self._glyphs[Glyph.LOCAL if view.path == "local" else Glyph.REMOTE]
        name = view.name or ("engine" if view.path == "local" else "endpoint")
        return self._line(f"{mark} {self._joined((name, view.model, view.base_url))}", width, "strong")

    def _what(self, view: EngineView, width: int) -> Line:
        if view.failure is not None and not view.answers:
            return self._line(f"{self._glyphs[Glyph.WARNING]} {view.failure}", width, "warning")
        context = f"context {format_tokens(view.context_tokens)} tokens"
        memory = f"process memory {format_bytes(view.rss_bytes)}" if view.path == "local" else None
        trouble = None if view.failure is None else view.failure.text
        return self._line(self._joined((_state(view), context, memory, trouble)), width, "text")

    def _counters(self, view: EngineView, width: int) -> Line:
        if view.path != "local":
            return self._line("a remote endpoint: its usage counts, not its memory", width, "muted")
        unknown = self._joined(f"{name} {UNKNOWN}" for name in ("KV", "running", "waiting"))
        return self._line(f"{unknown}  {_COUNTERS}", width, "muted")

    def _joined(self, parts: Iterable[str | None]) -> str:
        return f" {self._glyphs[Glyph.SEPARATOR]} ".join(part for part in parts if part)

    def _line(self, text: str, width: int, style: str) -> Line:
        return ((fitted(self._glyphs.shown(text), width, self._glyphs[Glyph.ELLIPSIS]), style),)


def _state(view: EngineView) -> str:
    return {None: "not asked yet", True: "answers", False: "does not answer"}[view.answers]
