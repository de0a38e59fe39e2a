from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from textual.widgets import OptionList

from kvtop.model.finding import Finding
from kvtop.ui.drawing.glyphs import Glyphs
from kvtop.ui.evidence import MOST_ROWS, evidence_rows
from kvtop.ui.screens.finding_detail import FindingDetail
from kvtop.ui.widgets.findings_list import FindingsList
from tests.ui.hosts import Host, screen_text

if TYPE_CHECKING:
    from textual.message import Message

HOSTILE = [
    "[/]",
    "[/data/models]",
    "[red]x[/red]",
    "[$error]x",
    "[@click=app.quit]x[/]",
    "[link=file:///etc]x[/link]",
    "\\[b]\\\\",
    "]][[",
]
PROBLEM = Finding("prompt_truncated", "problem", "The server cut prompts.", "Ask for shorter ones.")
WARNING = Finding("noisy_latency", "warning", "TTFT of repeats differs by more than half of the median.")
INFO = Finding("kv_slope", "info", "One more token holds 134,056 B/token.", "", {"residual_bytes": 1373745.2})


class ListHost(Host):
    def on_findings_list_chosen(self, event: Message) -> None:
        self.told.append(event)


def chosen(app: ListHost) -> list[Finding]:
    return [event.finding for event in app.told if isinstance(event, FindingsList.Chosen)]


@pytest.mark.parametrize("size", [(30, 10), (60, 18), (118, 33)])
async def test_severity_is_told_by_glyph_and_word(size: tuple[int, int]) -> None:
    found = FindingsList(Glyphs())
    app = Host(found)
    async with app.run_test(size=size) as pilot:
        found.show((PROBLEM, WARNING, INFO))
        await pilot.pause()
        drawn = screen_text(app)
    assert [mark in drawn for mark in ("✗ problem", "▲ warning", "i info")] == [True] * 3


async def test_ascii_is_ascii() -> None:
    found = FindingsList(Glyphs(ascii=True))
    app = Host(found)
    async with app.run_test(size=(60, 18)) as pilot:
        found.show((PROBLEM, WARNING, INFO))
        await pilot.pause()
        assert screen_text(app).isascii()
        assert "x problem" in screen_text(app)


async def test_long_text_is_wrapped_whole() -> None:
    words = [f"word{n}" for n in range(40)]
    found = FindingsList(Glyphs())
    app = Host(found)
    async with app.run_test(size=(40, 30)) as pilot:
        found.show([Finding("x", "info", " ".join(words))])
        await pilot.pause()
        assert [word for word in screen_text(app).split() if word.startswith("word")] == words


async def test_enter_tells_which_finding_was_chosen() -> None:
    found = FindingsList(Glyphs())
    app = ListHost(found)
    async with app.run_test(size=(60, 18)) as pilot:
        found.show((PROBLEM, WARNING, INFO))
        found.focus()
        await pilot.press("j", "down", "k", "enter")
        await pilot.pause()
    assert chosen(app) == [found.findings[found.highlighted or 0]]
    assert len(chosen(app)) == 1


@pytest.mark.parametrize("focused_first", [True, False])
async def test_enter_opens_the_first_without_a_move(focused_first: bool) -> None:
    found = FindingsList(Glyphs())
    app = ListHost(found)
    async with app.run_test(size=(60, 18)) as pilot:
        if focused_first:
            found.focus()
            await pilot.pause()
        found.show((PROBLEM, WARNING, INFO))
        found.focus()
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
    assert chosen(app) == [PROBLEM]


async def test_the_cursor_stays_on_its_finding_when_more_come() -> None:
    found = FindingsList(Glyphs())
    async with Host(found).run_test(size=(60, 18)) as pilot:
        found.show((WARNING, INFO))
        found.highlighted = 1
        found.show((PROBLEM, WARNING, INFO))
        await pilot.pause()
        assert found.highlighted == 2


async def test_the_same_findings_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = FindingsList(Glyphs())
    async with Host(found).run_test(size=(60, 18)):
        found.show([PROBLEM, INFO])
        monkeypatch.setattr(OptionList, "set_options", lambda *_: pytest.fail("drawn again"))
        found.show((PROBLEM, INFO))


async def test_no_findings_after_some() -> None:
    found = FindingsList(Glyphs())
    app = Host(found)
    async with app.run_test(size=(60, 18)) as pilot:
        found.show([PROBLEM])
        found.show([])
        await pilot.press("enter")
        await pilot.pause()
        assert screen_text(app).strip() == ""


@pytest.mark.parametrize("text", HOSTILE)
async def test_foreign_text_is_literal_in_list_and_detail(text: str) -> None:
    finding = Finding("x", "warning", text, text, {text: {text: [text, 1.0]}})
    found = FindingsList(Glyphs())
    app = Host(found)
    async with app.run_test(size=(100, 30)) as pilot:
        found.show([finding])
        await pilot.pause()
        assert text in screen_text(app)
        await app.push_screen(FindingDetail(finding, Glyphs()))
        await pilot.pause()
        assert screen_text(app).count(text) >= 4


@pytest.mark.parametrize("size", [(20, 6), (40, 12), (118, 33)])
async def test_detail_shows_text_hint_and_evidence(size: tuple[int, int]) -> None:
    evidence = {"base_bytes": 2**30, "codes": {"rate_limit": 3}}
    finding = Finding("requests_failed", "problem", "Three failed.", "Wait.", evidence)
    app = Host(FindingsList(Glyphs()))
    async with app.run_test(size=size) as pilot:
        await app.push_screen(FindingDetail(finding, Glyphs()))
        await pilot.pause()
        top = screen_text(app)
        assert "problem" in top
        assert "Three" in top
        if size[1] > 10:
            assert [word in top for word in ("requests_failed", "→ Wait.", "1.0 GiB", "rate_limit", "3")] == [
                True
            ] * 5


@pytest.mark.parametrize("key", ["escape", "enter", "q"])
async def test_detail_is_left_by(key: str) -> None:
    app = Host(FindingsList(Glyphs()))
    async with app.run_test(size=(60, 18)) as pilot:
        await app.push_screen(FindingDetail(INFO, Glyphs()))
        await pilot.press(key)
        await pilot.pause()
        assert not isinstance(app.screen, FindingDetail)


@pytest.mark.parametrize(
    ("evidence", "rows"),
    [
        ({}, ()),
        ({"p99_s": 0.021, "samples": 6025}, (("p99_s", "21 ms"), ("samples", "6,025"))),
        ({"base_bytes": 2**30, "ci_low": None}, (("base_bytes", "1.0 GiB"), ("ci_low", "–"))),
        (
            {"ttft_min_median_max_s": {"16,384 cold": [4.92, 5.53, 11.14]}},
            (("ttft_min_median_max_s 16,384 cold", "4.92 s, 5.53 s, 11.1 s"),),
        ),
        (
            {"cells": ["1024/cold/1", "1024/cold/2"], "none": []},
            (("cells", "1024/cold/1, 1024/cold/2"), ("none", "–")),
        ),
        ({"x": [{"a": 1}, {"a": 2.5}], "ok": True}, (("x 1 a", "1"), ("x 2 a", "2.5"), ("ok", "True"))),
        ({"v": float("nan"), "t": "\x1b[2Jhi"}, (("v", "–"), ("t", "hi"))),
    ],
)
def test_evidence_rows(evidence: dict[str, Any], rows: tuple[tuple[str, str], ...]) -> None:
    assert evidence_rows(evidence) == rows


def test_deep_and_long_evidence_is_bounded() -> None:
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"a": deep}
    assert len(evidence_rows(deep)) == 1
    rows = evidence_rows({str(number): number for number in range(MOST_ROWS + 5)})
    assert len(rows) == MOST_ROWS
    assert rows[-1] == ("…", "6 more")
