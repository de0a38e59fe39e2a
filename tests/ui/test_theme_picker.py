from __future__ import annotations

from textual.app import App

from kvtop.ui.screens.theme_picker import ThemePicker

THEMES = ("[/]odd", "dark", "light")


class Host(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []
        self.chosen: list[str | None] = []

    def on_mount(self) -> None:
        self.push_screen(ThemePicker(THEMES, "dark"), self.chosen.append)

    def on_theme_picker_previewed(self, message: ThemePicker.Previewed) -> None:
        self.shown.append(message.name)


async def test_the_cursor_starts_at_the_theme_in_use_and_previews() -> None:
    host = Host()
    async with host.run_test() as pilot:
        await pilot.pause()
        await pilot.press("down")
        await pilot.pause()
        assert host.shown == ["light"]


async def test_enter_keeps_the_theme() -> None:
    host = Host()
    async with host.run_test() as pilot:
        await pilot.press("k", "enter")
        assert host.chosen == ["[/]odd"]


async def test_escape_keeps_none() -> None:
    host = Host()
    async with host.run_test() as pilot:
        await pilot.press("j", "escape")
        assert host.chosen == [None]
