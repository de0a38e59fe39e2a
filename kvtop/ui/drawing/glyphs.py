"""Every drawn character with its ASCII twin of the same width."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique
from typing import Literal


@unique
class Glyph(Enum):
    """What a character says. The value is its Unicode form and its ASCII twin, equally wide."""

    UNKNOWN = ("–", "-")
    """A value that was not reported."""
    ELLIPSIS = ("…", "~")
    """Text goes on here."""
    SEPARATOR = ("·", "|")
    """Between two facts on one line."""
    TIMES = ("×", "x")
    DELTA = ("Δ", "d")
    """Before a change."""
    ABOUT = ("≈", "~")
    """Before an estimate."""
    PLUS_MINUS = ("±", "~")
    CELSIUS = ("°C", " C")

    LOCAL = ("●", "*")
    """The engine runs on this host."""
    REMOTE = ("○", "o")
    """The endpoint is somewhere else."""
    RUNNING = ("▸", ">")
    DONE = ("✓", "+")
    FAILED = ("✗", "x")
    WAITING = ("◌", ".")
    CANCELLED = ("■", "#")
    INTERRUPTED = ("╳", "/")
    """A run that ended without a last word."""
    WARNING = ("▲", "!")
    HINT = ("→", ">")
    """Before what to do about something."""
    STALE = ("◷", "?")
    """A value that is no longer fresh."""
    SIMULATED = ("◇", "S")
    """A value that the simulator made."""
    FOLLOWING = ("↓", "v")
    """The list keeps its newest row in view."""

    CURSOR = ("❯", ">")
    """The row that the keys act on."""
    CHECKED = ("▣", "x")
    UNCHECKED = ("□", ".")
    UP = ("▴", "^")
    DOWN = ("▾", "v")
    LEFT = ("‹", "<")
    RIGHT = ("›", ">")

    BAR_FULL = ("█", "#")
    BAR_EMPTY = ("░", ".")
    BAR_UNKNOWN = ("╌", "-")
    """A gauge without a value; not to be taken for an empty one."""
    RULE = ("─", "-")
    BAND = ("▒", ":")
    """A range around a line."""

    @property
    def unicode(self) -> str:
        """The form for terminals that show Unicode."""
        return str(self.value[0])

    @property
    def ascii(self) -> str:
        """The form for terminals that do not."""
        return str(self.value[1])


BorderStyle = Literal["round", "ascii"]


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters of one app: `glyphs[Glyph.DONE]`."""

    ascii: bool = False
    """Whether only ASCII may be drawn."""

    def __getitem__(self, glyph: Glyph) -> str:
        return glyph.ascii if self.ascii else glyph.unicode

    @property
    def border(self) -> BorderStyle:
        """The Textual border type that goes with these characters."""
        return "ascii" if self.ascii else "round"

    def shown(self, text: str) -> str:
        """Return a text of our own with each glyph in it replaced where only ASCII may be drawn."""
        return text.translate(_TWINS) if self.ascii and not text.isascii() else text


def _twins() -> dict[int, str]:
    """Return the first twin of each single character."""
    twins: dict[int, str] = {ord("°"): " "}
    for glyph in Glyph:
        if len(glyph.unicode) == 1:
            twins.setdefault(ord(glyph.unicode), glyph.ascii)
    return twins


_TWINS = _twins()
