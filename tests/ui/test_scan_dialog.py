from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from textual.widgets import Button, Input, OptionList

import kvtop
from kvtop.providers.store import list_profiles
from kvtop.runs.layout import create_run_folder
from kvtop.runs.manifest import write_manifest
from kvtop.runs.writer import RunWriter
from kvtop.settings.config import load_settings
from kvtop.ui.drawing.glyphs import Glyphs
from kvtop.ui.scan_request import ScanRequest
from kvtop.ui.screens import scan_dialog
from kvtop.ui.screens.scan_dialog import ScanDialog
from kvtop.ui.widgets.choice_field import ChoiceField
from kvtop.ui.widgets.target_list import TargetList
from tests.runs.samples import MANIFEST, TS, failed, record
from tests.ui.hosts import screen_text
from tests.ui.screen_host import UNANSWERED, ScreenHost, settled

if TYPE_CHECKING:
    from textual.pilot import Pilot

LAB = """
base_url = "http://127.0.0.1:8000"
model = "qwen3-8b"
"""
FAR = """
base_url = "https://api.example.com"
model = "big"
key_env = "FAR_KEY"
[price]
currency = "CNY"
input = 2.0
output = 8.0
"""


@pytest.fixture(autouse=True)
def profiles(home: Path) -> Path:
    folder = home / ".config/kvtop/profiles"
    folder.mkdir(parents=True)
    (folder / "lab.toml").write_text(LAB)
    (folder / "far.toml").write_text(FAR)
    return folder


def dialog(demo: str | None = None, glyphs: Glyphs | None = None, **environ: str) -> ScanDialog:
    known = {**os.environ, **environ}
    return ScanDialog(load_settings(known), list_profiles(known), demo, environ=known, glyphs=glyphs)


async def choose(pilot: Pilot[None], name: str) -> None:
    """Put the cursor on the row that begins with `name`."""
    targets = pilot.app.screen.query_one(TargetList)
    rows = [str(targets.get_option_at_index(n).prompt) for n in range(targets.option_count)]
    targets.highlighted = next(n for n, row in enumerate(rows) if row.startswith(name))
    await settled(pilot)


async def fill(pilot: Pilot[None], **texts: str) -> None:
    for name, text in texts.items():
        pilot.app.screen.query_one(f"#{name}", Input).value = text
    await settled(pilot)


def shown(pilot: Pilot[None]) -> str:
    """Return what is on the screen as one line without frames."""
    return re.sub(r"[\s│|]+", " ", screen_text(pilot.app))


async def test_enter_starts_with_the_settings(home: Path) -> None:
    app = ScreenHost(dialog(KVTOP_PROFILE="lab"))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "17 requests, at most 759,116 prompt and 7,808 completion tokens" in shown(pilot)
        assert "Takes unknown: no earlier run" in shown(pilot)
        await pilot.press("enter")
    assert app.answer == ScanRequest(
        lengths=(4096, 16384, 32768, 65536, 131072), repeats=3, prefix="cold", profile="lab"
    )


async def test_escape_cancels_from_any_field() -> None:
    app = ScreenHost(dialog())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("tab", "tab", "escape")
    assert app.answer is None


async def test_keys_alone_plan_a_scan_of_another_url() -> None:
    app = ScreenHost(dialog())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await choose(pilot, "another")
        await pilot.press("tab", *"http://10.0.0.1:9/v1", "tab", *"m/x", "tab", "tab")
        await fill(pilot, lengths="")
        await pilot.press(
            *"1k,512", "tab", "backspace", "4", "tab", "right", "right", "tab", "9", "tab", *"50k"
        )
        await settled(pilot)
        assert "Costs unknown: no price is given" in shown(pilot)
        await pilot.press("enter")
    assert app.answer == ScanRequest(
        lengths=(512, 1024),
        repeats=4,
        prefix="both",
        max_tokens=9,
        max_total_tokens=51200,
        base_url="http://10.0.0.1:9",
        model="m/x",
    )


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ({"lengths": "4x"}, "Lengths: '4x' is not a number of tokens; write 4096, 4k or 128k."),
        ({"lengths": ""}, "Lengths: '' is not a number of tokens; write 4096, 4k or 128k."),
        ({"lengths": "\x1b[2J4k"}, "is not a number of tokens"),
        ({"repeats": "0"}, "Repeats is '0', but must be a whole number of at least 1."),
        ({"repeats": "999999999"}, "Repeats make 4,999,999,995 requests; the app starts at most 10,000"),
        ({"max_tokens": "[/]"}, "Answer is '[/]', but must be a whole number of at least 1."),
        ({"budget": "1.5"}, "Budget: '1.5' is not a whole number of tokens of at least 1."),
    ],
)
async def test_what_is_wrong_is_said_and_does_not_start(texts: dict[str, str], sentence: str) -> None:
    app = ScreenHost(dialog(KVTOP_PROFILE="lab"))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await fill(pilot, **texts)
        assert sentence in shown(pilot)
        assert "Sends –" in shown(pilot)
        assert app.screen.query_one("#start", Button).disabled
        await pilot.press("enter")
        assert app.answer == UNANSWERED
        assert app.focused is not None
        assert app.focused.id == next(iter(texts))
        good = {"lengths": "4k, 8k,", "repeats": "1", "max_tokens": "", "budget": ""}
        await fill(pilot, **{name: good[name] for name in texts})
        await pilot.press("enter")
    assert isinstance(app.answer, ScanRequest)


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ({"base_url": ""}, "Base URL must start with http:// or https://."),
        ({"base_url": "http://u:pass@h"}, "Base URL must hold no user name and no key"),
        (
            {"base_url": "http://h", "key_env": "sk-0123456789abcdefgh"},
            "is not the name of an environment variable",
        ),
        ({"base_url": "http://h", "key_env": "NO_SUCH"}, "Key from names NO_SUCH, which is not set."),
    ],
)
async def test_a_wrong_address_is_said(texts: dict[str, str], sentence: str) -> None:
    app = ScreenHost(dialog())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await choose(pilot, "another")
        await fill(pilot, **texts)
        assert sentence in shown(pilot)
        await pilot.press("enter")
        assert app.answer == UNANSWERED


async def test_a_profile_shows_where_it_is_from_and_what_is_wrong_with_it(profiles: Path) -> None:
    (profiles / "bad.toml").write_text('base_url = "http://h"\nmodel = "[/]\\u001b[2J"\nno_such = 1\n')
    app = ScreenHost(dialog(KVTOP_PROFILE="far"))
    async with app.run_test(size=(200, 60)) as pilot:
        await settled(pilot)
        assert re.search(r"lab +yours +qwen3-8b · http://127.0.0.1:8000", screen_text(app))
        assert re.search(r"anthropic +shipped", screen_text(app))
        assert "The key of profile far is in the variable FAR_KEY, which is not set." in shown(pilot)
        await pilot.press("enter")
        await choose(pilot, "bad")
        assert "unknown key 'no_such'" in shown(pilot)
        await pilot.press("enter")
        assert app.answer == UNANSWERED


async def test_the_price_of_a_profile_is_told() -> None:
    app = ScreenHost(dialog(KVTOP_PROFILE="far", FAR_KEY="k"))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await fill(pilot, budget="1000")
        assert "at most 759,116 prompt and 1,088 completion tokens; the budget ends it at 1,000" in shown(
            pilot
        )
        assert "Costs about CNY 1.53 at the profile's price" in shown(pilot)


async def test_the_demo_says_simulated() -> None:
    app = ScreenHost(dialog("paged"))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "demo, paged engine: every number is SIMULATED" in shown(pilot)
        await pilot.press("enter")
    assert app.answer.demo == "paged"
    assert app.answer.profile is None


async def test_an_answer_length_of_the_settings_counts_where_none_is_typed() -> None:
    app = ScreenHost(dialog(KVTOP_PROFILE="lab", KVTOP_REQUESTS_MAX_TOKENS="7", KVTOP_SCAN_LENGTHS="1000"))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "7 (settings)" in shown(pilot)
        assert f"and {3 * 7 + 128} completion tokens" in shown(pilot)


async def test_ascii_draws_nothing_else() -> None:
    app = ScreenHost(dialog("growing", Glyphs(ascii=True)))
    async with app.run_test(size=(100, 40)) as pilot:
        await settled(pilot)
        app.screen.query_one("#scan").styles.border = ("ascii", "white")
        await pilot.pause()
        # Scroll bars and ellipses are drawn by Textual; the app's own filter sees to them.
        assert re.sub(r"[\x20-\x7e\n▁-█▔…]", "", screen_text(app)) == ""


@pytest.mark.parametrize("size", [(20, 5), (60, 12), (200, 60)])
async def test_it_works_at_any_size_and_after_a_resize(size: tuple[int, int]) -> None:
    app = ScreenHost(dialog(KVTOP_PROFILE="lab"))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await fill(pilot, lengths="1k")
        await pilot.resize_terminal(*size)
        await settled(pilot)
        await pilot.press("tab", "tab", "backspace", "2")
        await pilot.resize_terminal(80, 24)
        await settled(pilot)
        assert "4 requests" in shown(pilot)
        await pilot.press("enter")
    assert (app.answer.lengths, app.answer.repeats) == ((1024,), 2)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_all_of_it_is_on_the_screen(size: tuple[int, int]) -> None:
    app = ScreenHost(dialog())
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await choose(pilot, "another")
        text = screen_text(app)
        for word in (
            "Length scan",
            "Base URL",
            "Key from",
            "Lengths",
            "Prefix",
            "Budget",
            "Takes",
            "Start",
            "Cancel",
        ):
            assert word in text
        assert "Enter starts, Esc cancels" in text


async def test_the_mouse_works() -> None:
    app = ScreenHost(dialog(KVTOP_PROFILE="lab"))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.click("#prefix")
        assert app.screen.query_one(ChoiceField).value == "reused"
        await pilot.click("#start")
        await pilot.pause()
    assert app.answer.prefix == "reused"


def earlier(
    root: Path, base_url: str = "http://127.0.0.1:8000", model: str = "qwen3-8b", **changes: Any
) -> str:
    """Write a run with 1 s to the first token per 1,000 tokens, 100 tokens/s and 0.5 s between requests."""
    folder = create_run_folder(root, "scan", model, TS)
    endpoint = {"base_url": base_url, "model": model}
    write_manifest(folder, replace(MANIFEST, endpoint=endpoint, **changes))
    with RunWriter(folder) as writer:
        for number, length in enumerate((1000, 3000)):
            times = {"ts": TS + 10 * number, "end_ts": TS + 10 * number + 9.5, "ttft_s": length / 1000}
            counts = {"target_tokens": length, "completion_tokens": 200, "decode_tok_s": 100.0}
            writer.request(record(f"{number}", cell=f"{length}/cold/1", **times, **counts))
        writer.request(failed("9", ts=TS + 30, end_ts=TS + 90, ttft_s=60.0))
    return folder.id


async def test_an_earlier_run_on_the_endpoint_tells_the_time(home: Path) -> None:
    root = home / ".local/share/kvtop/runs"
    earlier(root, model="other")
    earlier(root, base_url="http://127.0.0.1:9000")
    earlier(root, demo="growing")
    run_id = earlier(root, base_url="http://127.0.0.1:8000/")
    app = ScreenHost(dialog(KVTOP_PROFILE="lab"))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await fill(pilot, lengths="500,2000,6000", repeats="2", max_tokens="100")
        calibration_s = 2 * (0.5 + 0.64)
        expected_s = 2 * ((0.5 + 2.0 + 6.0) + 3 * (1.0 + 0.5)) + calibration_s
        assert f"Takes about {expected_s:.1f} s, as fast as {run_id}" in shown(pilot)
        await choose(pilot, "another")
        await fill(pilot, base_url="http://127.0.0.1:7000")
        assert "Takes unknown" in shown(pilot)


async def test_hostile_ids_stay_text(profiles: Path) -> None:
    (profiles / "evil.toml").write_text('base_url = "http://h"\nmodel = "[/][$error]x[@click=app.quit]y"\n')
    app = ScreenHost(dialog(KVTOP_PROFILE="evil"))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        assert "[/][$error]x[@click=app.quit]y · http://h" in shown(pilot)


def words_of_the_command(request: ScanRequest) -> str:
    command = [sys.executable, "-P", "-m", "kvtop", *request.arguments()]
    environ = {**os.environ, "PYTHONPATH": str(Path(kvtop.__file__).parents[1])}
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False).stderr


@pytest.mark.parametrize("engine", ["growing", "paged"])
async def test_the_numbers_are_those_of_the_command(engine: str, tmp_path: Path) -> None:
    app = ScreenHost(dialog(engine))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await fill(pilot, lengths="256", repeats="1", max_tokens="2")
        said = re.search(r"Sends (.*? completion tokens)", shown(pilot))
        await pilot.press("enter")
    assert said is not None
    assert f"This run sends {said[1]}." in words_of_the_command(app.answer)


async def test_a_list_without_profiles_offers_the_rest(tmp_path: Path) -> None:
    app = ScreenHost(ScanDialog(load_settings(os.environ), ()))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert app.screen.query_one(OptionList).option_count == 3
        assert "Base URL must start with" in shown(pilot)


async def test_a_slow_disk_may_answer_after_the_dialog_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def read(*_: object) -> tuple[()]:
        released.wait(20)
        return ()

    monkeypatch.setattr(scan_dialog, "read_choices", read)
    app = ScreenHost(dialog())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("escape")
        assert app.answer is None
        released.set()
        await settled(pilot)
