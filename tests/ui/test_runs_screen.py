from __future__ import annotations

import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from textual.widgets import OptionList, Static

from kvtop.runs.archive import list_runs
from kvtop.runs.layout import RunFolder, create_run_folder
from kvtop.runs.lock import RunLock
from kvtop.runs.manifest import write_manifest
from kvtop.runs.writer import RunWriter
from kvtop.ui.drawing.glyphs import Glyphs
from kvtop.ui.screens import runs as runs_module
from kvtop.ui.screens.runs import LATEST, RunsScreen
from tests.runs.samples import MANIFEST, TS, event, failed, record
from tests.ui.hosts import screen_text
from tests.ui.screen_host import UNANSWERED, ScreenHost, settled

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from kvtop.model.event import RunState

PLAN = {"lengths": [1000], "repeats": 2, "prefix": "cold", "max_tokens": 10}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def new_run(
    root: Path, after_s: float, state: RunState | None, model: str = "m", **changes: Any
) -> RunFolder:
    folder = create_run_folder(root, "scan", model, TS + after_s)
    ended_ts = None if state is None else TS + after_s + 200
    manifest = replace(
        MANIFEST, created_ts=TS + after_s, ended_ts=ended_ts, endpoint={"model": model}, plan=PLAN
    )
    write_manifest(folder, replace(manifest, **changes))
    with RunWriter(folder) as writer:
        writer.event(event("started", cells=2))
        writer.request(record("1", cell="1000/cold/1"))
        writer.request(failed("2", cell="1000/cold/2"))
        if state is not None:
            writer.event(event("finished", state=state))
    return folder


class Wishes(ScreenHost):
    """Keeps the wishes that the screen posts."""

    def __init__(self, screen: RunsScreen, theme: str = "dark") -> None:
        super().__init__(screen, theme)
        self.wishes: list[tuple[str, str]] = []

    def on_runs_screen_cancel_wanted(self, message: RunsScreen.CancelWanted) -> None:
        self.wishes.append(("cancel", message.run_id))

    def on_runs_screen_resume_wanted(self, message: RunsScreen.ResumeWanted) -> None:
        self.wishes.append(("resume", message.run_id))


def told(pilot: Pilot[None]) -> str:
    return str(pilot.app.screen.query_one("#told", Static).content)


async def test_runs_are_listed_newest_first_and_enter_opens(root: Path) -> None:
    done = new_run(root, 0, "done", endpoint={"model": "m", "profile": "lab"})
    died = new_run(root, 60, None, demo="growing")
    app = Wishes(RunsScreen(root))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        text = screen_text(app)
        assert re.search(rf"╳ interrupted {died.id} +2 +1 +– +◇ SIMULATED", text)
        assert re.search(rf"✓ done +{done.id} +2 +1 +3 min 20 s +lab", text)
        assert text.index(died.id) < text.index(done.id)
        assert told(pilot) == "2 runs"
        await pilot.press("down", "enter")
    assert app.answer == done.id


@pytest.mark.parametrize(("key", "answer"), [("f", LATEST), ("escape", None), ("q", None), ("r", None)])
async def test_keys_that_leave(root: Path, key: str, answer: str | None) -> None:
    new_run(root, 0, "done")
    app = Wishes(RunsScreen(root))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(key)
    assert app.answer == answer


async def test_a_live_run_is_stopped_by_the_second_press(root: Path) -> None:
    folder, other = new_run(root, 60, None), new_run(root, 0, None)
    with RunLock.hold(folder), RunLock.hold(other):
        app = Wishes(RunsScreen(root))
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(pilot)
            assert "▸ running" in screen_text(app)
            await pilot.press("x")
            assert told(pilot) == f"x again stops {folder.id}; what it measured is kept."
            await pilot.press("j", "k")
            assert told(pilot) == "2 runs"
            await pilot.press("x")
            assert app.wishes == []
            await pilot.press("x")
            await pilot.pause()
    assert app.wishes == [("cancel", folder.id)]
    assert app.answer == UNANSWERED


async def test_a_run_is_finished_after_its_cost_was_told(root: Path) -> None:
    price = {"currency": "CNY", "input": 100.0, "output": 0.0}
    folder = new_run(root, 0, "cancelled", path="api", context={"price": price})
    app = Wishes(RunsScreen(root))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("e")
        await settled(pilot)
        sent = 1010 + 2048
        total = sent + 10 + 128
        assert told(pilot) == (
            f"e again finishes {folder.id}; it sends at most {total:,} tokens, about CNY {sent / 1e4:.2f}."
        )
        await pilot.press("e")
        await pilot.pause()
    assert app.wishes == [("resume", folder.id)]
    assert app.answer is None


@pytest.mark.parametrize(
    "plan",
    [
        {},
        {**PLAN, "lengths": "x"},
        {**PLAN, "repeats": 10**9},
        {**PLAN, "prefix": 1},
        {**PLAN, "max_tokens": -1},
    ],
)
async def test_a_damaged_plan_has_no_known_cost(root: Path, plan: dict[str, Any]) -> None:
    new_run(root, 0, "cancelled", plan=plan)
    app = Wishes(RunsScreen(root))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("e")
        await settled(pilot)
        assert told(pilot).endswith("what it sends is not known.")


@pytest.mark.parametrize("key", ["x", "e"])
async def test_what_is_done_is_neither_stopped_nor_finished(root: Path, key: str) -> None:
    new_run(root, 0, "done")
    app = Wishes(RunsScreen(root))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(key, key)
        await pilot.pause()
        assert "not going on" in told(pilot) or "nothing to finish" in told(pilot)
    assert app.wishes == []


@pytest.mark.parametrize("key", ["enter", "x", "e", "j", "k"])
async def test_an_empty_archive_says_what_to_do(root: Path, key: str) -> None:
    app = Wishes(RunsScreen(root))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert told(pilot) == "No runs yet. s in the cockpit plans one."
        await pilot.press(key)
        assert app.answer == UNANSWERED


async def test_unreadable_runs_say_why(root: Path) -> None:
    new_run(root, 0, "done").run_toml.write_text("schema = 99\n")
    app = Wishes(RunsScreen(root))
    async with app.run_test(size=(200, 60)) as pilot:
        await settled(pilot)
        assert re.search(r"▲ unreadable .* was written by a newer kvtop", screen_text(app))


async def test_an_unreadable_archive_says_why() -> None:
    app = Wishes(RunsScreen(Path(__file__)))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "Not a directory" in told(pilot)


async def test_hostile_names_stay_text_and_in_their_column(root: Path) -> None:
    evil = "[/][$error]\x1b[2J" + "漢" * 50
    new_run(root, 0, "done", endpoint={"model": evil, "profile": evil})
    app = Wishes(RunsScreen(root))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        row = next(row for row in screen_text(app).split("\n") if "✓ done" in row)
        assert "[/][$error]" in row
        assert "\x1b" not in row


@pytest.mark.parametrize("size", [(20, 5), (60, 12), (80, 24), (200, 60)])
async def test_it_fits_any_size_and_a_resize(root: Path, size: tuple[int, int]) -> None:
    new_run(root, 0, "done")
    app = Wishes(RunsScreen(root, glyphs=Glyphs(ascii=True)))
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await pilot.resize_terminal(*size)
        await settled(pilot)
        await pilot.resize_terminal(100, 30)
        await settled(pilot)
        assert re.search(r"\+ done +\S+-scan-m", screen_text(app))
        await pilot.press("enter")
    assert app.answer is not None


async def test_the_list_is_read_again_and_the_cursor_stays(root: Path) -> None:
    kept = new_run(root, 0, "done")
    screen = RunsScreen(root, refresh_s=0.01)
    app = Wishes(screen)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        new_run(root, 60, "done")
        shown = screen.query_one(OptionList)
        while shown.option_count < 2:
            await pilot.pause(0.01)
        assert shown.highlighted == 1
        await pilot.press("enter")
    assert app.answer == kept.id


async def test_a_list_that_is_costly_is_read_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Path] = []

    def read(asked: Path) -> list[Any]:
        reads.append(asked)
        return list_runs(asked)

    monkeypatch.setattr(runs_module, "list_runs", read)
    monkeypatch.setattr(runs_module, "_CHEAP_S", -1.0)
    app = Wishes(RunsScreen(root, refresh_s=0.0))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await settled(pilot)
        assert reads == [root]


async def test_at_most_a_thousand_runs_are_shown(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs_module, "MOST_RUNS", 2)
    for number in range(3):
        new_run(root, number * 60, "done")
    app = Wishes(RunsScreen(root))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert app.screen.query_one(OptionList).option_count == 2
        assert told(pilot) == "The newest 2 runs; kvtop runs list shows all."


async def test_a_run_that_goes_away_before_its_cost_is_told(root: Path) -> None:
    folder = new_run(root, 0, "cancelled")
    app = Wishes(RunsScreen(root))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        folder.path.rename(root / ".trash")
        await pilot.press("e")
        await settled(pilot)
        assert "what it sends is not known" in told(pilot) or told(pilot).startswith("No runs yet")


async def test_a_slow_disk_may_answer_after_the_screen_has_gone(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()

    def read(asked: Path) -> list[Any]:
        released.wait(20)
        return []

    monkeypatch.setattr(runs_module, "list_runs", read)
    app = Wishes(RunsScreen(root))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("escape")
        assert app.answer is None
        released.set()
        await settled(pilot)
