from __future__ import annotations

from pathlib import Path

import pytest
from textual.command import CommandPalette

from kvtop.model.failure import Failure
from kvtop.ui.actions import ACTIONS
from kvtop.ui.app import KvtopApp
from kvtop.ui.hand_over import write_screenshot
from kvtop.ui.messages import EngineSeen, EngineView, FailureShown, ProfileSeen, ProgressTold, RunOpened
from kvtop.ui.screens.cockpit import Cockpit
from kvtop.ui.screens.help import HelpScreen
from kvtop.ui.screens.theme_picker import ThemePicker
from tests.ui.launching import app, configure, launch, text_of, until

HOSTILE = "[/] [/data/models] [@click=app.quit]x[/] [$error]"


def notices(running: KvtopApp) -> list[str]:
    return [notice.message for notice in running._notifications]


def pictures(folder: Path) -> list[Path]:
    return list(folder.glob("kvtop-*.svg"))


async def test_q_leaves_with_0_and_nothing_to_say() -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        await pilot.press("q")
    assert running.return_code == 0
    assert running.session.last_words() == ()


async def test_ctrl_c_leaves_too() -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert not running.is_running or running._exit


async def test_suspend_reaches_the_app_from_a_dialog(monkeypatch: pytest.MonkeyPatch) -> None:
    running = app()
    suspended: list[str] = []
    monkeypatch.setattr(running, "action_suspend", lambda: suspended.append(type(running.screen).__name__))
    async with running.run_test(size=(120, 40)) as pilot:
        await pilot.press("question_mark", "ctrl+z")
    assert suspended == ["HelpScreen"]


async def test_remapped_keys_work_and_the_old_ones_do_not(home: Path) -> None:
    configure(home, '[keys]\nhelp = "f2,H"\n')
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        await pilot.press("question_mark")
        assert isinstance(running.screen, Cockpit)
        await pilot.press("H")
        assert isinstance(running.screen, HelpScreen)
        await pilot.press("escape", "f2")
        assert isinstance(running.screen, HelpScreen)


async def test_wrong_keys_are_one_notice(home: Path) -> None:
    configure(home, '[keys]\nhlep = "f2"\nscan = "r"\n')
    running = app()
    async with running.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.pause()
        told = [text for text in notices(running) if "[keys]" in text]
        assert len(told) == 1
        assert "hlep" in told[0]
        assert "runs" in told[0]


async def test_keys_of_panels_can_be_remapped(home: Path) -> None:
    configure(home, '[keys]\n"log.up" = "u"\n')
    running = app()
    async with running.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.pause()
        assert not [text for text in notices(running) if "[keys]" in text]
        assert "u" in running.screen.active_bindings


async def test_every_action_is_in_the_palette_with_its_area() -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        titles = {command.title for command in running.get_system_commands(running.screen)}
        assert titles == {f"{action.area}: {action.label}" for action in ACTIONS}
        await pilot.press("colon")
        await pilot.pause()
        assert isinstance(running.screen, CommandPalette)


async def test_an_entry_of_the_palette_does_its_action() -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        commands = {one.title: one for one in running.get_system_commands(running.screen)}
        await commands["app: help"].callback()
        await pilot.pause()
        assert isinstance(running.screen, HelpScreen)


async def test_dialogs_keep_the_keys_of_the_cockpit_away() -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        await pilot.press("question_mark", "t")
        assert isinstance(running.screen, HelpScreen)


async def test_a_theme_is_previewed_kept_or_given_back() -> None:
    running = app()
    async with running.run_test(size=(120, 40), notifications=True) as pilot:
        before = running.theme
        await pilot.press("t")
        assert isinstance(running.screen, ThemePicker)
        await pilot.press("down")
        await pilot.pause()
        other = running.theme
        assert other != before
        await pilot.press("escape")
        await pilot.pause()
        assert running.theme == before
        await pilot.press("t", "down", "enter")
        await pilot.pause()
        assert running.theme == other
        assert any(f'theme = "{other}"' in text for text in notices(running))


@pytest.mark.parametrize(
    ("environ", "flags", "theme"),
    [
        ({}, {}, "dark"),
        ({"TEXTUAL_COLOR_SYSTEM": "standard"}, {}, "ansi"),
        ({"NO_COLOR": "1"}, {}, "ansi"),
        ({"TEXTUAL_COLOR_SYSTEM": "standard"}, {"ui.theme": "light"}, "light"),
    ],
)
def test_sixteen_colours_get_their_theme_unless_one_is_chosen(
    environ: dict[str, str], flags: dict[str, object], theme: str
) -> None:
    assert app(flags, **environ).theme == theme


async def test_an_unknown_theme_and_what_went_wrong_before_are_one_notice() -> None:
    earlier = Failure("bad_toml", "config.toml:3: no TOML.", "")
    running = KvtopApp(launch({"ui.theme": "lihgt"}, notices=(earlier,)))
    async with running.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.pause()
        told = notices(running)
        assert len(told) == 1
        assert "config.toml:3" in told[0]
        assert "light" in told[0]
    assert running.theme == "dark"


async def test_failures_are_shown_as_text() -> None:
    running = app()
    async with running.run_test(size=(120, 40), notifications=True) as pilot:
        running.post_message(FailureShown(Failure("x", HOSTILE, "Retry.")))
        await until(pilot, "Retry.")
        assert notices(running)[-1] == f"{HOSTILE} Retry."


async def test_the_header_gathers_what_feeds_tell() -> None:
    running = app()
    async with running.run_test(size=(160, 40)) as pilot:
        view = EngineView("vLLM", HOSTILE, "http://127.0.0.1:8000", "local", 1000, None, True, None)
        running.post_message(EngineSeen(view))
        running.post_message(ProfileSeen("lab", "TLS not verified"))
        whole = await until(pilot, "profile lab")
        first = whole.splitlines()[0]
        assert f"●local  vLLM {HOSTILE} · profile lab · ▲ TLS not verified" in first


async def test_copy_says_where_it_went(home: Path) -> None:
    running = app()
    async with running.run_test(size=(120, 40), notifications=True) as pilot:
        folder = running.launch.settings.runs.dir / "20261201T000000Z-scan-m"
        running.post_message(RunOpened(folder.name, folder, {}, simulated=False, live=False))
        await until(pilot, folder.name)
        await pilot.press("y")
        await pilot.pause()
        file = home / ".cache" / "kvtop" / "copied.txt"
        assert file.read_text() == f"{folder}\n"
        assert file.stat().st_mode & 0o777 == 0o600
        assert running.clipboard == str(folder)
        assert str(file) in notices(running)[-1]


async def test_a_picture_goes_into_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    running = app()
    async with running.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.press("i")
        await pilot.pause()
        (picture,) = pictures(tmp_path)
        assert picture.read_text().startswith("<svg")
        assert str(picture) in notices(running)[-1]


def test_a_picture_goes_elsewhere_where_the_current_folder_takes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, data = tmp_path / "gone", tmp_path / "data"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    told = write_screenshot("<svg/>", data)
    (picture,) = pictures(data)
    assert told.endswith(str(picture))


def test_nowhere_to_put_a_picture_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, data = tmp_path / "gone", tmp_path / "data"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    data.write_text("a file")
    assert write_screenshot("<svg/>", data).startswith("No picture: ")


async def test_ascii_is_ascii_to_the_last_cell() -> None:
    running = app({"ui.ascii": True})
    async with running.run_test(size=(120, 40), notifications=True) as pilot:
        for keys in ([], ["4"], ["escape", "question_mark"], ["escape", "t"], ["escape", "colon"]):
            await pilot.press(*keys)
            await pilot.pause()
            for strip in running.screen._compositor.render_strips():
                line = strip
                for each in running.get_line_filters():
                    line = line.apply_filter(each, running.screen.background_colors[1])
                assert line.text.isascii(), line.text
                assert line.cell_length == strip.cell_length


async def test_what_ran_is_told_at_the_end() -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        folder = running.launch.settings.runs.dir / "20261201T000000Z-scan-m"
        running.post_message(RunOpened(folder.name, folder, {}, simulated=True, live=True))
        running.post_message(ProgressTold(folder.name, 4, 15, None, None, "", "running", ""))
        await until(pilot, "4/15")
        await pilot.press("q")
    words = "\n".join(running.session.last_words())
    assert f"{folder.name} (SIMULATED): still running" in words
    assert str(folder) in words
    assert f"kvtop runs follow {folder.name}" in words


async def test_a_run_that_was_only_looked_at_is_not_told() -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        folder = running.launch.settings.runs.dir / "20261201T000000Z-scan-m"
        running.post_message(RunOpened(folder.name, folder, {}, simulated=True, live=False))
        running.post_message(ProgressTold(folder.name, 15, 15, None, None, "", "done", ""))
        await until(pilot, "15/15")
    assert running.session.last_words() == ()


async def test_cancel_without_a_run_says_so() -> None:
    running = app()
    async with running.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.press("x")
        await pilot.pause()
        assert "There is no run to stop." in notices(running)[-1]


@pytest.mark.parametrize(
    ("key", "screen"),
    [("s", "ScanDialog"), ("r", "RunsScreen"), ("o", "ProcessesScreen"), ("question_mark", "HelpScreen")],
)
@pytest.mark.parametrize("size", [(80, 24), (20, 5)])
async def test_dialogs_bear_a_terminal_that_changes_its_size(
    key: str, screen: str, size: tuple[int, int]
) -> None:
    running = app()
    async with running.run_test(size=(120, 40)) as pilot:
        await pilot.press(key)
        for _ in range(200):
            if type(running.screen).__name__ == screen:
                break
            await pilot.pause(0.01)
        assert type(running.screen).__name__ == screen
        await pilot.resize_terminal(*size)
        await pilot.pause()
        await pilot.resize_terminal(120, 40)
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(running.screen, Cockpit)
        assert "1 GPUs" in text_of(running)


async def test_filters_stay_the_same_objects_so_that_filtered_lines_are_kept() -> None:
    running = app({"ui.ascii": True})
    async with running.run_test():
        first, second = running.get_line_filters(), running.get_line_filters()
    assert [id(one) for one in first] == [id(one) for one in second]
    assert {type(one).__name__ for one in first} >= {"ControlFilter", "AsciiFilter"}


async def test_screen_is_drawn_anew_when_asked_and_after_another_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running = app()
    forgotten: list[str] = []
    async with running.run_test(size=(120, 40)) as pilot:
        monkeypatch.setattr(running._frame, "forget", lambda: forgotten.append("all"))
        await pilot.press("ctrl+l")
        assert len(forgotten) == 1
        await pilot.resize_terminal(100, 30)
        await pilot.pause()
        assert len(forgotten) > 1
