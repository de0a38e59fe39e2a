from __future__ import annotations

import time

import pytest

from kvtop.ui.drawing.glyphs import Glyphs
from kvtop.ui.widgets.header_bar import HeaderBar
from tests.ui import hosts

NOON = time.mktime((2026, 12, 1, 12, 3, 44, 0, 0, -1))
HOSTILE = "[/] [@click=app.bell]x[/] [$error]"


class Host(hosts.Host):
    def __init__(self, glyphs: Glyphs | None = None) -> None:
        self.bar = HeaderBar(glyphs or Glyphs(), now=lambda: NOON)
        super().__init__(self.bar)

    @property
    def line(self) -> str:
        return hosts.screen_text(self).splitlines()[0]


async def test_all_facts_stand_on_one_line() -> None:
    host = Host()
    async with host.run_test(size=(120, 3)) as pilot:
        host.bar.show("gpu-07", "local", "vLLM qwen3-8b", "lab", 10.0, None, False)
        await pilot.pause()
        assert "kvtop  gpu-07  ●local  vLLM qwen3-8b · profile lab" in host.line
        assert "10 Hz" in host.line
        assert host.line.rstrip().endswith("12:03:44")


async def test_what_is_not_known_is_left_out() -> None:
    host = Host()
    async with host.run_test(size=(80, 3)) as pilot:
        host.bar.show("box", None, None, None, None, None, False)
        await pilot.pause()
        assert host.line.split() == ["kvtop", "box", "12:03:44"]


async def test_simulated_and_unverified_tls_are_said() -> None:
    host = Host()
    async with host.run_test(size=(120, 3)) as pilot:
        host.bar.show("box", "api", None, "p", 10.0, "TLS not verified", True, note="slow terminal")
        await pilot.pause()
        assert "SIMULATED" in host.line
        assert "○api" in host.line
        assert "▲ TLS not verified" in host.line
        assert "▲ slow terminal" in host.line


async def test_ascii_only() -> None:
    host = Host(Glyphs(ascii=True))
    async with host.run_test(size=(120, 3)) as pilot:
        host.bar.show("box", "local", "e", "p", 10.0, "TLS not verified", True)
        await pilot.pause()
        assert host.line.isascii()


@pytest.mark.parametrize("width", [20, 40, 80])
async def test_a_long_name_is_cut_and_the_clock_stays(width: int) -> None:
    host = Host()
    async with host.run_test(size=(width, 3)) as pilot:
        host.bar.show("host", "local", "engine " * 30, None, None, None, False)
        await pilot.pause()
        assert host.line.rstrip().endswith("12:03:44")


async def test_markup_in_a_name_is_text() -> None:
    host = Host()
    async with host.run_test(size=(120, 3)) as pilot:
        host.bar.show(HOSTILE, None, HOSTILE, None, None, None, False)
        await pilot.pause()
        assert host.line.count(HOSTILE) == 2


async def test_the_same_facts_are_not_drawn_again() -> None:
    host = Host()
    async with host.run_test(size=(120, 3)) as pilot:
        facts = ("box", "local", "e", None, 10.0, None, False)
        host.bar.show(*facts)
        await pilot.pause()
        before = host.bar._facts_part.visual
        host.bar.show(*facts)
        assert host.bar._facts_part.visual is before
