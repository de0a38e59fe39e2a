"""The themes of the app: those that kvtop ships and the user's own folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from textual.theme import BUILTIN_THEMES, Theme

from kvtop.model.failure import Failure
from kvtop.settings.paths import shipped_dir, themes_dir
from kvtop.settings.toml_text import nearest
from kvtop.ui.theme_reader import read_theme, with_roles

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_THEME = "dark"
ANSI_THEME = "ansi"
"""The default where the terminal has 16 colours."""


@dataclass(frozen=True, slots=True)
class ThemeSet:
    """Themes that can be used, and what is wrong with the others."""

    themes: Mapping[str, Theme]
    """By name: the shipped ones in alphabetical order, then the user's."""
    failures: tuple[Failure, ...] = ()
    """Everything wrong with any theme file, in the order of the files; for one notice."""
    own: frozenset[str] = frozenset()
    """Names of the themes that come from the user's folder."""

    def choose(self, wanted: str | None, *, few_colors: bool = False) -> tuple[Theme, Failure | None]:
        """Return the wanted theme, or the default and why it is not the wanted one.

        `few_colors` says that the terminal has 16 colours; it decides where nothing is wanted.
        """
        if wanted is not None and wanted in self.themes:
            return self.themes[wanted], None
        default = self.themes.get(ANSI_THEME) if few_colors else None
        theme = default or self.themes[DEFAULT_THEME]
        return theme, None if wanted is None else self._not_found(wanted, theme.name)

    def _not_found(self, wanted: str, used: str) -> Failure:
        close = nearest(wanted, self.themes)
        hint = f"Did you mean {close}?" if close else f"Themes: {', '.join(self.themes)}."
        return Failure.of("unknown_theme", f"There is no theme {wanted!r}; {used} is used.", hint)


def load_themes(environ: Mapping[str, str]) -> ThemeSet:
    """Return the shipped themes and those of the user, which replace shipped ones of the same name.

    A broken file leaves the shipped theme of its name in place. Never raises for what files hold.
    """
    failures: list[Failure] = []
    shipped = _read_folder(shipped_dir("themes"), failures, must_exist=True)
    own = _read_folder(themes_dir(environ), failures, must_exist=False)
    themes = shipped | own
    if DEFAULT_THEME not in themes:
        themes[DEFAULT_THEME] = _last_resort()
    return ThemeSet(themes, tuple(failures), frozenset(own))


def _last_resort() -> Theme:
    """Return a theme that needs no file, for an installation whose theme files are missing."""
    return with_roles(replace(BUILTIN_THEMES["textual-dark"], name=DEFAULT_THEME, variables={}))


def _read_folder(folder: Path, failures: list[Failure], *, must_exist: bool) -> dict[str, Theme]:
    found: dict[str, tuple[Theme, Path]] = {}
    for path in _toml_files(folder, failures, must_exist=must_exist):
        theme, complaints = read_theme(path)
        failures.extend(complaints)
        if theme is None:
            continue
        if theme.name in found:
            taken_by = found[theme.name][1].name
            text = f"{path}: the name {theme.name} is taken by {taken_by} beside it."
            failures.append(Failure.of("bad_value", text, "Give each theme a name of its own."))
            continue
        found[theme.name] = theme, path
    return {name: theme for name, (theme, _) in found.items()}


def _toml_files(folder: Path, failures: list[Failure], *, must_exist: bool) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".toml")
    except FileNotFoundError:
        if must_exist:
            text = f"{folder}: the themes that kvtop ships are missing."
            failures.append(Failure.of("no_themes", text, "Install kvtop again."))
    except OSError as error:
        text = f"{folder}: cannot be read: {(error.strerror or 'unknown error').lower()}"
        failures.append(Failure.of("bad_themes_dir", text))
    return []
