from __future__ import annotations

import pytest
from textual.app import App

from kvtop.ui.actions import ACTIONS, remapped
from kvtop.ui.drawing.glyphs import Glyphs
from kvtop.ui.screens.help import AREAS, PANEL_HELP, HelpScreen


class Host(App[None]):
    pass


def text_of(screen: HelpScreen) -> str:
    return screen._text().plain


def test_every_action_is_in_the_help_with_key_and_id() -> None:
    lines = text_of(HelpScreen(ACTIONS)).splitlines()
    for action in ACTIONS:
        assert any(action.id in line and action.help in line for line in lines), action.id


def test_every_area_has_a_title() -> None:
    assert {action.area for action in ACTIONS} == AREAS.keys()


@pytest.mark.parametrize("panel", PANEL_HELP)
def test_the_focused_panel_comes_first(panel: str) -> None:
    title, text = PANEL_HELP[panel]
    assert text_of(HelpScreen(ACTIONS, panel)).startswith(f"{title}\n{text}")


def test_remapped_keys_are_shown_and_missing_ones_marked() -> None:
    actions, _ = remapped({"scan": "r"}, {})
    lines = text_of(HelpScreen(actions, None, Glyphs())).splitlines()
    assert any(line.split()[:2] == ["r", "scan"] for line in lines)
    assert any(line.split()[:2] == ["–", "runs"] for line in lines)


@pytest.mark.parametrize("key", ["escape", "q", "question_mark", "enter"])
async def test_it_closes_again(key: str) -> None:
    async with Host().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(HelpScreen(ACTIONS, "gpus"))
        await pilot.press(key)
        assert not isinstance(pilot.app.screen, HelpScreen)


async def test_it_scrolls_where_it_is_longer_than_the_screen() -> None:
    async with Host().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(HelpScreen(ACTIONS, "gpus"))
        box = pilot.app.screen.query_one("#help")
        await pilot.press("j", "j", "down")
        await pilot.pause()
        assert box.scroll_y == 3
        assert box.max_scroll_y > 0
