"""What the environment tells of the terminal: its colours, and whether it shows Unicode."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kvtop.settings.charset import speaks_utf8

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COLOR_CHOICES", "FEW_COLORS", "color_system", "speaks_utf8"]

COLOR_CHOICES = ("auto", "truecolor", "256", "16", "none")

FEW_COLORS = "standard"
"""The name that Rich has for 16 colours."""

_BY_CHOICE = {"truecolor": "truecolor", "256": "256", "16": FEW_COLORS, "none": FEW_COLORS}
_MANY_COLORS_WORDS = ("truecolor", "24bit")
_SIXTEEN = re.compile(r"linux|vt\d*|cons25|ansi|xterm-color|.*-16color|(?:screen|tmux)(?:\..*|-(?!256).*)?")


def color_system(choice: str, environ: Mapping[str, str]) -> str:
    """Return `truecolor`, `256` or `standard`, as Rich calls them.

    `auto` trusts COLORTERM, which SSH does not forward, and takes 256 for every TERM not known to have
    less: of the terminals in use only the console, `screen` and `tmux` without `-256color` do.
    """
    if choice != "auto":
        return _BY_CHOICE[choice]
    if environ.get("COLORTERM", "").strip().lower() in _MANY_COLORS_WORDS:
        return "truecolor"
    return FEW_COLORS if _SIXTEEN.fullmatch(environ.get("TERM", "").strip().lower()) else "256"
