from __future__ import annotations

from typing import Any

import pytest

from kvtop.ui.drawing.glyphs import Glyphs
from kvtop.ui.messages import ProgressTold
from kvtop.ui.widgets.progress_line import ProgressLine
from tests.ui.hosts import Host, screen_text

HOSTILE = "[/][$error]x[@click=app.quit]y"


def progress(**changes: Any) -> ProgressTold:
    values: dict[str, Any] = {
        "run_id": "r",
        "done": 12,
        "total": 30,
        "left_s": 200.0,
        "spent_tokens": 123456,
        "cell": "4096/cold/2",
        "state": "running",
        "text": "The base.",
    }
    return ProgressTold(**{**values, **changes})


async def line(told: ProgressTold | None, width: int = 120, *, ascii_only: bool = False) -> str:
    widget = ProgressLine(Glyphs(ascii=ascii_only))
    app = Host(widget)
    async with app.run_test(size=(width, 3)) as pilot:
        widget.show(told)
        await pilot.pause()
        return screen_text(app).split("\n")[0].strip()


async def test_a_running_run_tells_all() -> None:
    shown = await line(progress())
    assert shown.startswith("▸ running  ████████░")
    assert shown.endswith("12/30  ≈ 3 min 20 s left  123,456 tokens  4096/cold/2  The base.")


@pytest.mark.parametrize(
    ("width", "left_out"),
    [(80, ["The base."]), (60, ["4096/cold/2", "The base."]), (26, ["left", "tokens", "cold"])],
)
async def test_a_narrow_line_leaves_out_what_matters_least(width: int, left_out: list[str]) -> None:
    shown = await line(progress(), width)
    assert "running" in shown
    assert "12/30" in shown
    assert not [word for word in left_out if word in shown]
    assert len(shown) <= width


async def test_what_is_not_known_is_not_shown() -> None:
    shown = await line(progress(total=None, left_s=None, spent_tokens=None, cell="", text="", done=0))
    assert shown == "▸ running"


@pytest.mark.parametrize(
    ("state", "start"),
    [
        ("done", "✓ done  30/30"),
        ("failed", "✗ failed  30/30"),
        ("cancelled", "■ cancelled  30/30"),
        ("interrupted", "╳ interrupted  30/30"),
        ("[/]", "– [/]  30/30"),
    ],
)
async def test_a_run_that_ended_says_how(state: str, start: str) -> None:
    shown = await line(progress(state=state, done=30, cell=""))
    assert shown.startswith(start)
    assert "left" not in shown
    assert "█" not in shown


async def test_ascii_only() -> None:
    shown = await line(progress(text="…and on"), ascii_only=True)
    assert shown.isascii()
    assert shown.startswith("> running  ########....")


@pytest.mark.parametrize("text", [HOSTILE, "漢字" * 80, "x" * 400])
async def test_foreign_text_is_literal_and_cut(text: str) -> None:
    shown = await line(progress(text=text, cell=""), 100)
    cut = shown.partition("tokens  ")[2]
    assert text.startswith(cut.rstrip("…").rstrip())
    assert len(cut) > 10


async def test_none_hides_the_line_and_news_bring_it_back() -> None:
    widget = ProgressLine(Glyphs())
    app = Host(widget)
    async with app.run_test(size=(80, 3)) as pilot:
        assert not widget.display
        widget.show(progress())
        await pilot.pause()
        await pilot.resize_terminal(60, 3)
        await pilot.pause()
        assert "running" in screen_text(app)
        widget.show(None)
        await pilot.pause()
        assert screen_text(app).strip() == ""


async def test_the_same_again_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    widget = ProgressLine(Glyphs())
    async with Host(widget).run_test(size=(80, 3)) as pilot:
        widget.show(progress())
        await pilot.pause()
        drawn: list[object] = []
        monkeypatch.setattr(widget, "refresh", lambda *regions, **_: drawn.extend(regions))
        widget.show(progress())
        assert drawn == []
        widget.show(progress(done=13))
        assert len(drawn) == 1
