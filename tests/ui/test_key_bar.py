from __future__ import annotations

from textual.app import App, ComposeResult

from kvtop.ui.actions import ACTIONS, Action, remapped, shown_key
from kvtop.ui.widgets.key_bar import GAP, KeyBar, fit

IN_BAR = tuple(action for action in ACTIONS if action.in_bar)


class Host(App[None]):
    def __init__(self, actions: tuple[Action, ...] = ACTIONS) -> None:
        super().__init__()
        self.bar = KeyBar(actions)
        self.pressed: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.bar

    def on_key_bar_pressed(self, event: KeyBar.Pressed) -> None:
        self.pressed.append(event.action.id)


def width_of(actions: tuple[Action, ...]) -> int:
    return sum(len(f"{shown_key(action.keys[0])} {action.label}") + GAP for action in actions) - GAP


def test_help_and_quit_are_always_there() -> None:
    assert [action.id for action in fit(IN_BAR, 20)] == ["help", "quit"]
    assert fit(IN_BAR, 200) == IN_BAR


def test_what_fits_is_shown_and_nothing_longer() -> None:
    for width in range(20, 120):
        assert width_of(fit(IN_BAR, width)) <= width


async def test_the_bar_shows_remapped_keys() -> None:
    actions, _ = remapped({"scan": "f2"}, {})
    async with Host(actions).run_test(size=(80, 1)) as pilot:
        assert "f2 scan" in pilot.app.query_one(KeyBar).render().plain


async def test_an_action_without_a_key_is_not_shown() -> None:
    actions, _ = remapped({"scan": "r"}, {})
    async with Host(actions).run_test(size=(120, 1)) as pilot:
        shown = pilot.app.query_one(KeyBar).render().plain
        assert "r scan" in shown
        assert "runs" not in shown


async def test_a_click_on_a_key_does_what_it_does() -> None:
    host = Host()
    async with host.run_test(size=(120, 3)) as pilot:
        column = host.bar.render().plain.index("r runs")
        await pilot.click(KeyBar, offset=(column + 2, 0))
        assert host.pressed == ["runs"]
        await pilot.click(KeyBar, offset=(110, 0))
        assert host.pressed == ["runs"]
