"""The history of memory: the right part of the scale, requests under their time, gaps as gaps."""

from __future__ import annotations

import pytest

from kvtop.ui.drawing.glyphs import Glyphs
from kvtop.ui.widgets.memory_history import MemoryHistory, scale
from tests.ui.gpu_host import NOW_S, Host, lines_of, watch_refresh

WIDTH = 9 + 150
"""Two dot columns a cell, one second each."""
Points = tuple[float | None, ...]
Span = tuple[float, float | None]


async def shown(
    history: dict[str, Points],
    spans: list[Span] | None = None,
    size: tuple[int, int] = (WIDTH, 3),
    *,
    ascii_only: bool = False,
) -> list[str]:
    widget = MemoryHistory(Glyphs(ascii=ascii_only))
    async with Host(widget).run_test(size=size) as pilot:
        names = {uuid: str(index) for index, uuid in enumerate(history)}
        widget.show(history, spans or [], NOW_S, names)
        await pilot.pause()
        return lines_of(widget)


async def test_one_gpu_has_the_whole_height_and_a_scale() -> None:
    lines = await shown({"a": (0.61,) * 299 + (0.64,)})
    assert lines[0].split() == ["65%", "⢠"]
    assert lines[1].startswith("     60% ⣤")
    assert lines[1].endswith("⣤⣼")
    assert lines[2] == "requests"


async def test_requests_are_marked_under_their_seconds() -> None:
    (*_, marks) = await shown(
        {"a": (0.5,) * 300}, [(NOW_S - 3.5, NOW_S - 2.5), (NOW_S - 299.5, NOW_S - 298.2)]
    )
    assert marks == "requests ⠃" + " " * 146 + "⠘⠃"


async def test_request_that_still_runs_is_marked_to_the_end() -> None:
    (*_, marks) = await shown({"a": (0.5,) * 300}, [(NOW_S - 1.0, None)])
    assert marks.split() == ["requests", "⠛"]


async def test_requests_outside_the_window_are_not_marked() -> None:
    (*_, marks) = await shown(
        {"a": (0.5,) * 300}, [(NOW_S - 400.0, NOW_S - 300.5), (NOW_S + 2.0, NOW_S + 3.0)]
    )
    assert marks == "requests"


async def test_unknown_values_are_gaps() -> None:
    points = [0.5] * 150 + [None] * 4 + [0.5] * 146
    (top, *_) = await shown({"a": tuple(points), "b": (0.5,) * 300})
    assert top == "       0 " + "⣤" * 75 + "  " + "⣤" * 73


async def test_young_history_stands_at_the_right() -> None:
    (top, *_) = await shown({"a": (0.5, 0.5), "b": (0.5, 0.5)})
    assert top == "       0 " + " " * 149 + "⣤"


async def test_gpus_without_a_line_each_share_the_mean() -> None:
    history: dict[str, Points] = {str(index): (0.02 + 0.2 * index, None) for index in range(1, 5)}
    lines = await shown(history, size=(WIDTH, 3))
    assert lines[0] == "mean 55%"
    assert lines[1].split() == ["50%", "⡆"]


async def test_each_gpu_has_a_band_of_its_own_where_there_is_room() -> None:
    lines = await shown({"a": (0.12,), "b": (0.92,)}, size=(WIDTH, 5))
    assert [line[:8].strip() for line in lines] == ["0 15%", "10%", "1 95%", "90%", "requests"]


async def test_nothing_is_drawn_twice() -> None:
    widget = MemoryHistory(Glyphs())
    async with Host(widget).run_test(size=(WIDTH, 3)) as pilot:
        widget.show({"a": (0.5,) * 300}, [], NOW_S)
        await pilot.pause()
        seen = watch_refresh(widget)
        widget.show({"a": (0.5,) * 300}, [], NOW_S)
        widget.show({"a": (0.5,) * 300}, [], NOW_S + 1)
        assert seen == []
        widget.show({"a": (0.5,) * 299 + (0.501,)}, [(NOW_S, None)], NOW_S + 1)
        assert [{region.y for region in regions} for regions in seen] == [{2}]


async def test_ascii() -> None:
    lines = await shown({"a": (0.5,) * 300}, [(NOW_S - 5.0, None)], ascii_only=True)
    assert "".join(lines).isascii()
    assert "^" in lines[-1]


@pytest.mark.parametrize("size", [(10, 3), (16, 3), (1, 2)])
async def test_too_small_a_place_stays_empty(size: tuple[int, int]) -> None:
    assert not any(await shown({"a": (0.5,)}, size=size))


async def test_without_gpus_only_the_marks_are_there() -> None:
    assert await shown({}, [(NOW_S - 2.0, None)]) == ["requests " + " " * 148 + "⠘⠛", "", ""]


@pytest.mark.parametrize(
    ("values", "limits"),
    [
        ([0.61, 0.64], (0.60, 0.65)),
        ([0.64, 0.66], (0.625, 0.675)),
        ([0.1, 0.9], (0.0, 1.0)),
        ([0.98, 0.99], (0.95, 1.0)),
        ([1.0], (0.95, 1.0)),
        ([0.0, None], (0.0, 0.05)),
        ([None], (0.0, 1.0)),
        ([], (0.0, 1.0)),
        ([1.2], (0.95, 1.0)),
    ],
)
def test_scale_is_the_smallest_that_holds_all(
    values: list[float | None], limits: tuple[float, float]
) -> None:
    assert scale(values) == pytest.approx(limits)
