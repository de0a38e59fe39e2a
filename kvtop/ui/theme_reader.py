"""One theme file: TOML in, a Textual theme or complaints with file, line and key out."""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from textual.color import Color, ColorParseError
from textual.design import ColorSystem
from textual.theme import Theme

from kvtop.model.failure import KvtopError
from kvtop.settings.toml_table import TomlTable, shown
from kvtop.settings.toml_text import nearest, read_toml
from kvtop.settings.values import is_safe_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kvtop.model.failure import Failure

COLORS = (
    "primary",
    "secondary",
    "accent",
    "warning",
    "error",
    "success",
    "foreground",
    "background",
    "surface",
    "panel",
)
"""Keys of `[colors]`; only `primary` is required."""

ROLES = {
    "curve-1": "primary",
    "curve-2": "accent",
    "curve-3": "success",
    "curve-4": "error",
    "curve-5": "secondary",
    "curve-6": "warning",
    "theory": "foreground",
    "band": "secondary",
    "history": "primary",
    "history-mark": "accent",
    "gauge-low": "success",
    "gauge-mid": "warning",
    "gauge-high": "error",
    "gauge-track": "secondary",
    "muted": "foreground",
}
"""kvtop's own variables, each with the colour it has where a theme leaves it out."""

_TOP = ("name", "dark", "ansi", "colors", "variables")
_STYLE_WORDS = frozenset({"bold", "dim", "italic", "underline", "reverse", "strike", "not", "none"})
_SHADE_NAME = re.compile(r"-(?:darken|lighten)-\d$")
_OPACITY = re.compile(r"\s+\d{1,3}(?:\.\d{1,3})?%$")


def read_theme(path: Path) -> tuple[Theme | None, tuple[Failure, ...]]:
    """Return the theme of a file with a colour for each of `ROLES`, or None and everything wrong with it.

    Never raises for what the file holds.
    """
    complaints: list[Failure] = []
    theme = None
    with _noted(complaints):
        theme = _theme(TomlTable(read_toml(path)), complaints)
    return theme, tuple(complaints)


def with_roles(theme: Theme) -> Theme:
    """Return the theme with a colour for each of `ROLES` that it leaves out."""
    if not ROLES.keys() <= theme.variables.keys():
        generated = theme.to_color_system().generate()
        theme.variables = {role: generated[color] for role, color in ROLES.items()} | theme.variables
    return theme


@contextmanager
def _noted(complaints: list[Failure]) -> Iterator[None]:
    """Go on after a complaint: a person wants to see all of them at once."""
    try:
        yield
    except KvtopError as error:
        complaints.append(error.failure)


def _theme(root: TomlTable, complaints: list[Failure]) -> Theme | None:
    name, dark, ansi = "", True, False
    with _noted(complaints):
        root.allow(_TOP)
    with _noted(complaints):
        name = _name(root)
    with _noted(complaints):
        dark = root.switch("dark", default=True)
    with _noted(complaints):
        ansi = root.switch("ansi", default=False)
    colors = _colors(root.table("colors"), complaints, ansi=ansi)
    variables = _variables(root.table("variables"), complaints, ansi=ansi)
    if complaints:
        return None
    theme = Theme(name, colors["primary"], dark=dark, ansi=ansi, variables=variables)
    for key, color in colors.items():
        setattr(theme, key, color)
    return with_roles(theme)


def _name(root: TomlTable) -> str:
    name = root.text("name")
    if name is None:
        raise root.error("name", "is missing", 'Write for example: name = "mine"')
    if not is_safe_name(name):
        raise root.error("name", f"is {shown(name)}, but must be letters, digits, dots, dashes, at most 64")
    return name


def _colors(table: TomlTable, complaints: list[Failure], *, ansi: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    with _noted(complaints):
        table.allow(COLORS)
    with _noted(complaints):
        if "primary" not in table:
            raise table.error("primary", "is missing")
    for key in (key for key in COLORS if key in table):
        with _noted(complaints):
            found[key] = _plain_color(table, key, ansi=ansi)
    return found


def _variables(table: TomlTable, complaints: list[Failure], *, ansi: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    with _noted(complaints):
        table.allow(_variable_names())
    for key in (key for key in table.names() if key in _variable_names()):
        with _noted(complaints):
            found[key] = _variable(table, key, ansi=ansi)
    return found


def _variable(table: TomlTable, key: str, *, ansi: bool) -> str:
    if key in ROLES or _SHADE_NAME.search(key):
        return _plain_color(table, key, ansi=ansi)
    value = table.text(key) or ""
    if "style" in key.split("-"):
        if not _STYLE_WORDS.issuperset(value.split()):
            raise table.error(key, f"is {shown(value)}, but must be of {', '.join(sorted(_STYLE_WORDS))}")
    elif (color := _OPACITY.sub("", value)) != "auto":
        _parsed(table, key, color)
    return value


def _plain_color(table: TomlTable, key: str, *, ansi: bool) -> str:
    """Return a colour without transparency, of the terminal's own 16 where the theme is of those."""
    value = table.text(key) or ""
    color = _parsed(table, key, value)
    if color.a != 1:
        raise table.error(key, f"is {shown(value)}, but must not be transparent")
    if ansi and color.ansi is None:
        raise table.error(key, f"is {shown(value)}, but a theme with ansi = true has ansi_… colours only")
    if not ansi and color.ansi is not None:
        raise table.error(key, f"is {shown(value)}, but ansi_… colours need ansi = true above")
    return value


def _parsed(table: TomlTable, key: str, value: str) -> Color:
    try:
        return Color.parse(value)
    except ColorParseError as error:
        close = nearest(value, _ANSI_NAMES) if value.startswith("ansi") else error.suggested_color
        hint = f"Did you mean {close}?" if close else "Write #rrggbb or a CSS colour name."
        raise table.error(key, f"is {shown(value)}, which is no colour", hint) from None


@cache
def _variable_names() -> frozenset[str]:
    """Return kvtop's variables and those that Textual makes from a theme, which may be overridden."""
    plain = ColorSystem("#808080").generate()
    ansi = ColorSystem("ansi_blue", ansi=True).generate()
    return (frozenset(ROLES) | plain.keys() | ansi.keys()) - frozenset(COLORS)


_HUES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_ANSI_NAMES = ("ansi_default", *(f"ansi_{hue}" for hue in _HUES), *(f"ansi_bright_{hue}" for hue in _HUES))
