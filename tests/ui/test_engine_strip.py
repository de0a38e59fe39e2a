"""The engine strip: what is known, and no number that is not."""

from __future__ import annotations

import pytest

from kvtop.model.failure import Failure
from kvtop.model.quantity import GIB
from kvtop.ui.drawing.glyphs import Glyphs
from kvtop.ui.messages import EngineView
from kvtop.ui.widgets.engine_strip import EngineStrip
from tests.ui.gpu_host import Host, lines_of, watch_refresh


def view(**fields: object) -> EngineView:
    known: dict[str, object] = {
        "name": "vLLM",
        "model": "qwen3-8b",
        "base_url": "http://127.0.0.1:8000",
        "path": "local",
        "context_tokens": 131072,
        "rss_bytes": 12 * GIB,
        "answers": True,
        "failure": None,
    }
    return EngineView(**{**known, **fields})  # type: ignore[arg-type]  # a dict of many types


async def shown(what: EngineView | None, width: int = 90, *, ascii_only: bool = False) -> list[str]:
    strip = EngineStrip(Glyphs(ascii=ascii_only))
    async with Host(strip).run_test(size=(width, 4)) as pilot:
        strip.show(what)
        await pilot.pause()
        return lines_of(strip)


async def test_local_engine() -> None:
    assert await shown(view()) == [
        "● vLLM · qwen3-8b · http://127.0.0.1:8000",
        "answers · context 128k tokens · process memory 12.0 GiB",
        "KV – · running – · waiting –  from the engine's metrics, not read yet",
        "",
    ]


async def test_remote_endpoint_has_no_memory() -> None:
    lines = await shown(view(path="api", name=None, rss_bytes=None, base_url="https://api.example.com"))
    assert lines[0] == "○ endpoint · qwen3-8b · https://api.example.com"
    assert "memory" not in lines[1]
    assert "KV" not in lines[2]


async def test_unknown_is_a_dash() -> None:
    lines = await shown(view(context_tokens=None, rss_bytes=None, answers=None, model=None))
    assert lines[1] == "not asked yet · context – tokens · process memory –"


async def test_engine_that_does_not_answer_says_why() -> None:
    away = Failure("unreachable", "The engine does not answer: refused.", "Start it.")
    lines = await shown(view(answers=False, failure=away))
    assert lines[1] == "▲ The engine does not answer: refused. Start it."


async def test_refusal_stands_beside_the_rest() -> None:
    lines = await shown(view(failure=Failure("auth", "It refuses the key (status 401).")), 100)
    assert lines[1].endswith("process memory 12.0 GiB · It refuses the key (status 401).")


async def test_without_an_engine_it_says_how_to_get_one() -> None:
    lines = await shown(None)
    assert lines[0] == "No engine is chosen."
    assert "profile" in lines[1]


@pytest.mark.parametrize("model", ["[/] [bold]x", "模型" * 60, "x" * 300])
async def test_foreign_names_stay_on_their_line(model: str) -> None:
    strip = EngineStrip(Glyphs())
    async with Host(strip).run_test(size=(40, 4)):
        strip.show(view(model=model))
        assert [strip.render_line(y).cell_length for y in range(3)] == [40, 40, 40]


async def test_same_view_is_not_drawn_again() -> None:
    strip = EngineStrip(Glyphs())
    async with Host(strip).run_test(size=(80, 4)):
        strip.show(view())
        seen = watch_refresh(strip)
        strip.show(view())
        assert seen == []
        strip.show(view(rss_bytes=13 * GIB))
        assert [region.y for regions in seen for region in regions] == [1]


async def test_ascii() -> None:
    away = Failure("unreachable", "It does not answer.", "Start it.")
    for what in (view(), view(failure=away, answers=False), view(path="api"), None):
        assert "".join(await shown(what, 60, ascii_only=True)).isascii()
