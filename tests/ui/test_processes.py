"""The processes on the GPUs: sorted, read-only, and honest about pids of another namespace."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from kvtop.model.failure import Failure
from kvtop.model.quantity import GIB
from kvtop.model.reading import ProcessReading
from kvtop.telemetry.process_facts import ProcessFacts
from kvtop.telemetry.sample import SamplerStatus
from kvtop.ui.messages import GpuSnapshot
from kvtop.ui.process_rows import FOREIGN_NOTE, OUTSIDE, process_rows, sum_line
from kvtop.ui.screens.processes import ProcessesScreen
from tests.ui.gpu_host import Host, gpu, snapshot

FACTS = {
    10: ProcessFacts("ann", "vllm serve qwen", 4 * GIB),
    11: ProcessFacts("bob", "[/] [bold]train.py", 2 * GIB),
}


def facts_of(pid: int) -> ProcessFacts:
    return FACTS.get(pid, ProcessFacts())


def process(pid: int, gib: float | None, **fields: object) -> ProcessReading:
    size = None if gib is None else int(gib * GIB)
    plain = ProcessReading(100.0, pid, "python", "other", "GPU-0", size, source="nvml")
    return replace(plain, **fields)  # type: ignore[arg-type]  # a dict of many types


def test_largest_gpu_memory_comes_first() -> None:
    listed = (process(9, None), process(10, 5), process(11, 80, uuid="GPU-1"))
    rows = process_rows(snapshot(gpu(0), gpu(1), processes=listed), facts_of)
    assert [row.cells for row in rows] == [
        ("11", "bob", "1", "80.0 GiB", "2.0 GiB", "[/] [bold]train.py"),
        ("10", "ann", "0", "5.0 GiB", "4.0 GiB", "vllm serve qwen"),
        ("9", "–", "0", "–", "–", "python"),
    ]


def test_engine_process_without_a_gpu_is_listed_once() -> None:
    on_host = (process(10, None, uuid=None, rss_bytes=7 * GIB), process(12, None, uuid=None, rss_bytes=GIB))
    rows = process_rows(snapshot(gpu(0), processes=(*on_host, process(10, 5))), facts_of)
    assert [(row.pid, row.gpu, row.host_memory) for row in rows] == [
        ("10", "0", "4.0 GiB"),
        ("12", "–", "1.0 GiB"),
    ]


def test_foreign_pids_are_never_looked_up_here() -> None:
    def forbidden(pid: int) -> ProcessFacts:
        raise AssertionError(pid)

    (row,) = process_rows(snapshot(gpu(0), processes=(process(10, 5, kind="unknown", name=None),)), forbidden)
    assert row.cells == ("10", "–", "0", "5.0 GiB", "–", OUTSIDE)


def test_sums_of_driver_and_processes_are_both_told() -> None:
    listed = (process(10, 5), process(11, 1))
    assert (
        sum_line(gpu(0), snapshot(gpu(0), processes=listed)) == "GPU 0: 60.0 GiB used, processes hold 6.0 GiB"
    )
    assert sum_line(gpu(0), snapshot(gpu(0))) == "GPU 0: 60.0 GiB used, no process is listed"
    unsized = snapshot(gpu(0), processes=(process(10, None),))
    assert sum_line(gpu(0), unsized) == "GPU 0: 60.0 GiB used, processes hold –"


class Changing:
    """Hands the screen what a test puts in."""

    def __init__(self, now: GpuSnapshot | None) -> None:
        self.now = now

    def __call__(self) -> GpuSnapshot | None:
        return self.now


async def opened(pilot: Pilot[None], provider: Changing) -> ProcessesScreen:
    screen = ProcessesScreen(provider)
    await pilot.app.push_screen(screen)
    await look(screen, pilot)
    return screen


async def look(screen: ProcessesScreen, pilot: Pilot[None]) -> None:
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def table(screen: ProcessesScreen) -> list[list[str]]:
    found = screen.query_one(DataTable)
    return [[str(cell) for cell in found.get_row_at(row)] for row in range(found.row_count)]


def notes(screen: ProcessesScreen) -> str:
    return str(screen.query_one("#process-notes", Static).content)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (20, 6)])
async def test_screen_lists_processes(size: tuple[int, int]) -> None:
    app: App[None] = Host()
    async with app.run_test(size=size) as pilot:
        limited = gpu(0, power_w=None, faults={"power_w": "not supported [/] here"})
        listed = (process(4_190_001, 5, name="[/] [bold]x"), process(4_190_002, 90))
        screen = await opened(pilot, Changing(snapshot(limited, processes=listed)))
        assert [row[0] for row in table(screen)] == ["4190002", "4190001"]
        assert table(screen)[1][5] == "[/] [bold]x"
        assert "power: not supported [/] here" in notes(screen)


async def test_screen_says_when_pids_are_of_another_namespace() -> None:
    app: App[None] = Host()
    async with app.run_test() as pilot:
        screen = await opened(pilot, Changing(snapshot(gpu(0), processes=(process(1, 5, kind="unknown"),))))
        assert FOREIGN_NOTE in notes(screen)
        assert table(screen)[0][5] == OUTSIDE


async def test_screen_follows_and_keeps_its_cursor() -> None:
    app: App[None] = Host()
    async with app.run_test() as pilot:
        provider = Changing(None)
        screen = await opened(pilot, provider)
        assert notes(screen) == "Waiting for the first GPU reading."
        provider.now = snapshot(gpu(0), processes=tuple(process(4_190_000 + n, n) for n in range(5)))
        screen._look()
        await look(screen, pilot)
        await pilot.press("down", "down")
        provider.now = snapshot(gpu(0), processes=tuple(process(4_190_000 + n, n) for n in range(4)))
        screen._look()
        await look(screen, pilot)
        assert len(table(screen)) == 4
        assert screen.query_one(DataTable).cursor_row == 2


async def test_screen_without_a_gpu_says_why() -> None:
    app: App[None] = Host()
    async with app.run_test() as pilot:
        why = Failure("nvml_missing", "No NVIDIA driver library.", "Install the driver.")
        screen = await opened(pilot, Changing(snapshot(status=SamplerStatus("waiting", (why,)))))
        assert notes(screen) == "No NVIDIA driver library. Install the driver."


async def test_screen_without_processes_says_so() -> None:
    app: App[None] = Host()
    async with app.run_test() as pilot:
        screen = await opened(pilot, Changing(snapshot(gpu(0))))
        assert notes(screen).startswith("No process holds GPU memory.")


@pytest.mark.parametrize("key", ["escape", "o", "q"])
async def test_screen_closes(key: str) -> None:
    app: App[None] = Host()
    async with app.run_test() as pilot:
        await opened(pilot, Changing(snapshot(gpu(0))))
        await pilot.press(key)
        await pilot.pause()
        assert not isinstance(app.screen, ProcessesScreen)
