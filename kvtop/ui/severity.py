"""How the severity of a finding is shown: glyph, word and colour, never by colour alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from kvtop.ui.drawing.glyphs import Glyph

if TYPE_CHECKING:
    from kvtop.model.finding import Severity
    from kvtop.ui.drawing.glyphs import Glyphs

_COLORS: dict[Severity, str] = {"problem": "$text-error", "warning": "$text-warning", "info": "$muted"}
_WIDTH = max(map(len, _COLORS))


def severity_mark(severity: Severity, glyphs: Glyphs) -> Content:
    """Return glyph and word, padded to one width for all severities."""
    marks = {"problem": glyphs[Glyph.FAILED], "warning": glyphs[Glyph.WARNING], "info": "i"}
    return Content.styled(f"{marks[severity]} {severity:{_WIDTH}}", _COLORS[severity])
