"""Each shipped theme at truecolor, 256, 16 and no colours."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from textual.app import App
from textual.color import Color
from textual.widgets import Static

import kvtop
from kvtop.settings.paths import shipped_dir
from kvtop.ui.theme_files import load_themes
from kvtop.ui.theme_reader import COLORS, ROLES, read_theme
from tests.ui.palette import DEPTHS, VISION, contrast, nearest_pair, number_at, seen_with, shown_at

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.theme import Theme

THEMES = dict(load_themes({"HOME": "/nonexistent"}).themes)
RGB = [theme for theme in THEMES.values() if not theme.ansi]
ANSI = [theme for theme in THEMES.values() if theme.ansi]

GROUNDS = ("background", "surface", "panel")
STATES = ("success", "warning", "error")
GAUGE = ("gauge-low", "gauge-mid", "gauge-high", "gauge-track")
CURVES = tuple(f"curve-{number}" for number in range(1, 7))

by_name = pytest.mark.parametrize("theme", RGB, ids=lambda theme: theme.name)
by_depth = pytest.mark.parametrize("depth", DEPTHS)


def colors(theme: Theme) -> dict[str, str]:
    return {name: getattr(theme, name) for name in COLORS} | {role: theme.variables[role] for role in ROLES}


def lowest_contrast(theme: Theme, name: str, depth: str) -> float:
    known = colors(theme)
    return min(contrast(shown_at(known[name], depth), shown_at(known[ground], depth)) for ground in GROUNDS)


def test_what_is_shipped() -> None:
    assert set(THEMES) == {
        *("dark", "light", "high-contrast", "blue-orange", "ansi", "ansi-light", "ember", "phosphor"),
    }


@pytest.mark.parametrize("path", sorted(shipped_dir("themes").glob("*.toml")), ids=lambda path: path.stem)
def test_each_file_gives_every_colour_and_role(path: Path) -> None:
    theme, complaints = read_theme(path)
    assert complaints == ()
    assert theme is not None
    assert theme.name == path.stem
    text = path.read_text()
    assert [key for key in (*COLORS, *ROLES) if not re.search(rf"^{key} = ", text, re.MULTILINE)] == []


@by_name
@by_depth
def test_text_can_be_read(theme: Theme, depth: str) -> None:
    assert lowest_contrast(theme, "foreground", depth) >= 4.5
    least = 4.5 if depth != "16" else 3.0
    for name in (*STATES, "primary", "accent", "muted"):
        assert lowest_contrast(theme, name, depth) >= least, name


def test_high_contrast_keeps_its_word() -> None:
    for name in ("foreground", "muted", "primary", "secondary", "accent", *STATES, *CURVES):
        assert lowest_contrast(THEMES["high-contrast"], name, "256") >= 7.0, name


@by_name
@pytest.mark.parametrize("depth", ["truecolor", "256"])
def test_what_is_drawn_stands_out(theme: Theme, depth: str) -> None:
    for name in (*CURVES, "theory", "history", "history-mark", *GAUGE[:3]):
        assert lowest_contrast(theme, name, depth) >= 3.0, name
    assert lowest_contrast(theme, "gauge-track", depth) >= 1.5


@by_name
@by_depth
def test_gauges_states_and_curves_are_told_apart(theme: Theme, depth: str) -> None:
    known = colors(theme)
    for group in (GAUGE, STATES, CURVES, ("history", "history-mark"), ("theory", "curve-1")):
        assert nearest_pair(shown_at(known[name], depth) for name in group) >= 20, group


@by_name
def test_256_colours_are_the_design_and_not_a_loss(theme: Theme) -> None:
    for name, color in colors(theme).items():
        there = shown_at(color, "256")
        assert max(abs(a - b) for a, b in zip(Color.parse(color).rgb, there, strict=True)) <= 10, name


@by_name
def test_grounds_are_neutral_greys(theme: Theme) -> None:
    for ground in GROUNDS:
        assert len(set(Color.parse(colors(theme)[ground]).rgb)) == 1


@by_name
def test_no_color_leaves_text_readable(theme: Theme) -> None:
    known = colors(theme)
    for name in ("foreground", *STATES):
        for ground in GROUNDS:
            grey, under = Color.parse(known[name]).monochrome, Color.parse(known[ground]).monochrome
            assert contrast(grey.rgb, under.rgb) >= (4.5 if name == "foreground" else 3.5), (name, ground)


@pytest.mark.parametrize("vision", VISION)
def test_blue_orange_for_other_eyes(vision: str) -> None:
    known = colors(THEMES["blue-orange"])
    for group in (GAUGE, STATES, CURVES):
        assert nearest_pair(seen_with(shown_at(known[name], "256"), vision) for name in group) >= 20, group


def test_the_colour_blind_check_can_fail() -> None:
    gauge = [shown_at(colors(THEMES["dark"])[name], "256") for name in GAUGE]
    assert nearest_pair(seen_with(color, "deuteranopia") for color in gauge) < 20 <= nearest_pair(gauge)


@pytest.mark.parametrize("theme", ANSI, ids=lambda theme: theme.name)
def test_ansi_themes_take_the_terminals_own_ground(theme: Theme) -> None:
    known = colors(theme)
    assert {known[ground] for ground in (*GROUNDS, "foreground")} == {"ansi_default"}
    for group in (GAUGE, STATES, CURVES):
        assert len({known[name] for name in group}) == len(group)


def test_the_documented_16_colours() -> None:
    page = (Path(kvtop.__file__).parents[1] / "docs" / "themes.md").read_text()
    for theme in RGB:
        numbers = [str(number_at(colors(theme)[name], "16")) for name in (*CURVES, *GAUGE[:3])]
        assert f"| {theme.name} | {' | '.join(numbers)} |" in page


class Gallery(App[None]):
    CSS = "\n".join(f"#{name} {{ color: ${name}; }}" for name in (*COLORS, *ROLES))

    def __init__(self, theme: Theme) -> None:
        self._first = theme
        super().__init__()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return THEMES["dark"].variables

    def compose(self) -> ComposeResult:
        for name in (*COLORS, *ROLES):
            yield Static(name, id=name)

    def on_mount(self) -> None:
        self.register_theme(self._first)
        self.theme = self._first.name


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
async def test_textual_takes_each(theme: Theme) -> None:
    app = Gallery(theme)
    async with app.run_test() as pilot:
        await pilot.pause()
        assert app.current_theme.name == theme.name
        assert app.query_one("#curve-4").styles.color == Color.parse(theme.variables["curve-4"])
