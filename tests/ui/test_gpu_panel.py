"""The panel of GPUs: every GPU in view at every size, nothing stale or missing shown as if it were there."""

from __future__ import annotations

import time

import pytest
from textual.content import Content
from textual.geometry import Region

from kvtop.model.failure import Failure
from kvtop.model.quantity import GIB
from kvtop.model.reading import ProcessReading
from kvtop.telemetry.sample import SamplerStatus
from kvtop.ui.drawing.glyphs import Glyphs
from kvtop.ui.gpu_names import short_name
from kvtop.ui.messages import GpuSnapshot
from kvtop.ui.widgets.gpu_panel import GpuPanel
from kvtop.ui.widgets.painted_lines import changed, fitted
from tests.ui.gpu_host import NOW_S, Host, gpu, lines_of, lost_gpu, snapshot, watch_refresh

UNICODE = Glyphs()


async def shown(
    *snapshots: GpuSnapshot, size: tuple[int, int] = (60, 16), glyphs: Glyphs = UNICODE
) -> list[str]:
    """Return the lines after the snapshots were shown one by one."""
    panel = GpuPanel(glyphs)
    async with Host(panel).run_test(size=size) as pilot:
        for one in snapshots:
            panel.show(one)
        await pilot.pause()
        return lines_of(panel)


async def test_a_row_tells_memory_change_load_power_and_temperature() -> None:
    (row, *rest) = await shown(snapshot(gpu(0), base_bytes={"GPU-0": 57 * GIB}))
    assert row.split() == ["0", "H200", "██████░░░░░░░░", "60.0/140.0", "GiB", "+3.00", "87%", "612W", "61°C"]
    assert not any(rest)


@pytest.mark.parametrize("size", [(80, 24), (78, 20), (56, 16), (80, 8), (120, 4), (40, 16)])
async def test_sixteen_gpus_are_all_in_view(size: tuple[int, int]) -> None:
    readings = [gpu(index, mem_used_bytes=(100 + index) * GIB) for index in range(16)]
    text = " ".join(await shown(snapshot(*readings), size=size))
    for index in range(16):
        assert f"{100 + index}.0/140.0" in text or f"{(100 + index) * 100 // 140}%" in text


@pytest.mark.parametrize("width", [56, 78])
async def test_with_a_line_for_each_gpu_all_numbers_are_there(width: int) -> None:
    readings = [gpu(index, mem_used_bytes=(100 + index) * GIB) for index in range(16)]
    for row in (await shown(snapshot(*readings), size=(width, 16)))[:16]:
        assert row.endswith("87%  612W 61°C")
        assert " H200 " in row


async def test_too_small_a_panel_says_how_many_it_hides() -> None:
    lines = await shown(snapshot(*[gpu(index) for index in range(16)]), size=(60, 2))
    assert "more GPUs" in lines[-1]
    hidden = int(lines[-1].split()[1])
    assert sum(line.count("%") for line in lines[:-1]) + hidden == 16


async def test_lost_gpu_keeps_its_row_with_time_and_last_value() -> None:
    lines = await shown(snapshot(gpu(0), gpu(1)), snapshot(lost_gpu(0, NOW_S + 5), gpu(1)))
    clock = time.strftime("%H:%M:%S", time.localtime(NOW_S + 5))
    assert lines[0].startswith("0✗ H200")
    assert "60.0/140.0 GiB" in lines[0]
    assert lines[0].endswith(f"lost {clock}")
    assert lines[1].startswith("1  H200")
    assert "61°C" in lines[1]


async def test_gpu_lost_before_its_first_reading_claims_nothing() -> None:
    (row, *_) = await shown(snapshot(lost_gpu(0)))
    assert row.split()[0:2] == ["0✗", "H200"]
    assert row.split()[-2:] == ["–", "lost"]
    assert "0%" not in row


async def test_gpu_that_came_back_is_live_again() -> None:
    (row, *_) = await shown(snapshot(gpu(0)), snapshot(lost_gpu(0, NOW_S)), snapshot(gpu(0, util_pct=3.0)))
    assert "✗" not in row
    assert "3%" in row


async def test_missing_fields_are_dashes_not_zeros() -> None:
    (row, *_) = await shown(snapshot(gpu(0, power_w=None, temp_c=None, faults={"power_w": "not permitted"})))
    assert row.split()[-3:] == ["87%", "–", "–"]


async def test_missing_memory_has_a_bar_without_a_value() -> None:
    fields = {"mem_used_bytes": None, "mem_total_bytes": None, "faults": {"mem_used_bytes": "not permitted"}}
    (row, *_) = await shown(snapshot(gpu(0, **fields)))
    assert "╌╌╌" in row
    assert "unified" not in row


@pytest.mark.parametrize("total", [None, 0])
async def test_unified_memory_is_called_so(total: int | None) -> None:
    (row, *_) = await shown(snapshot(gpu(0, mem_used_bytes=41 * GIB, mem_total_bytes=total, unified=True)))
    assert "41.0 GiB unified" in row
    assert "╌╌╌" in row


async def test_mig_slices_have_rows_of_their_own() -> None:
    part = gpu(
        0,
        name="NVIDIA H100 80GB HBM3 MIG 1g.10gb",
        device={"parent_uuid": "GPU-0", "slice_index": 2},
        util_pct=None,
        faults={"util_pct": "n/a (MIG)"},
    )
    lines = await shown(snapshot(gpu(0), part))
    assert lines[1].startswith("0.2  1g.10gb")
    assert " – " in lines[1]


async def test_simulated_gpu_says_so() -> None:
    (row, *_) = await shown(snapshot(gpu(0, name="SIMULATED H200 141GB", source="simulated")))
    assert row.startswith("0  SIM H200 ")


@pytest.mark.parametrize(
    ("status", "note"),
    [
        (SamplerStatus("running", age_s=9.4), "9 s old"),
        (SamplerStatus("hanging", age_s=2.1), "2 s old"),
        (SamplerStatus("failed", age_s=600.0), "10 min old"),
    ],
)
async def test_old_readings_tell_their_age(status: SamplerStatus, note: str) -> None:
    lines = await shown(snapshot(gpu(0), status=status))
    assert lines[0].startswith("0◷ H200")
    assert lines[0].endswith(note)
    assert "61°C" not in lines[0]
    assert lines[1] == f"GPU readings {note}"


async def test_readings_of_three_periods_ago_are_not_old_yet() -> None:
    lines = await shown(snapshot(gpu(0), status=SamplerStatus("running", age_s=2.9)))
    assert "61°C" in lines[0]
    assert not any(lines[1:])


async def test_old_readings_are_grey() -> None:
    panel = GpuPanel(UNICODE)
    async with Host(panel).run_test(size=(60, 4)):
        panel.show(snapshot(gpu(0), status=SamplerStatus("running", age_s=9.0)))
        colors = {
            segment.style.color
            for segment in panel.render_line(0)
            if segment.style and "60.0" in segment.text
        }
        assert colors == {panel.get_component_rich_style("painted--muted").color}


async def test_hanging_driver_is_explained_below_the_rows() -> None:
    hang = Failure("driver_hangs", "A GPU driver call has not returned for 9 s.")
    lines = await shown(snapshot(gpu(0), status=SamplerStatus("hanging", (hang,), age_s=9.0)), size=(90, 4))
    assert lines[1] == "GPU readings 9 s old · A GPU driver call has not returned for 9 s."


async def test_without_a_gpu_it_says_why_and_what_to_do() -> None:
    missing = Failure("nvml_missing", "No NVIDIA driver library [/] here.", "Install the NVIDIA driver.")
    gone = Failure("engine_gone", "There is no process 7.")
    lines = await shown(snapshot(status=SamplerStatus("failed", (missing, gone))))
    assert lines[:2] == ["No NVIDIA driver library [/] here.", "→ Install the NVIDIA driver."]
    assert not any(lines[2:])


async def test_before_the_first_reading_it_says_so() -> None:
    assert (await shown())[0] == "Waiting for the first GPU reading."


async def test_note_about_a_substitute_source() -> None:
    note = Failure("nvidia_smi_instead", "Read through nvidia-smi: no library.")
    lines = await shown(snapshot(gpu(0), status=SamplerStatus("running", age_s=0.0, notes=(note,))))
    assert lines[1] == "Read through nvidia-smi: no library."


async def test_only_changed_cells_are_sent() -> None:
    panel = GpuPanel(UNICODE)
    async with Host(panel).run_test(size=(60, 16)) as pilot:
        panel.show(snapshot(gpu(0), gpu(1)))
        await pilot.pause()
        seen = watch_refresh(panel)
        panel.show(snapshot(gpu(0), gpu(1)))
        assert seen == []
        panel.show(snapshot(gpu(0), gpu(1, util_pct=89.0)))
        assert seen == [(Region(lines_of(panel)[1].index("89%") + 1, 1, 1, 1),)]


async def test_height_that_is_not_granted_is_not_asked_for_again() -> None:
    panel = GpuPanel(UNICODE)
    panel.styles.height = "auto"
    panel.styles.max_height = 4
    async with Host(panel).run_test(size=(80, 10)) as pilot:
        panel.show(snapshot(*[gpu(index) for index in range(8)]))
        await pilot.pause()
        assert panel.size.height == 4
        seen = watch_refresh(panel)
        panel.show(snapshot(*[gpu(index, util_pct=1.0) for index in range(8)]))
        assert seen
        assert all(regions for regions in seen)


async def test_panel_grows_to_its_gpus() -> None:
    panel = GpuPanel(UNICODE)
    async with Host(panel).run_test(size=(80, 30)) as pilot:
        panel.styles.height = "auto"
        panel.show(snapshot(*[gpu(index) for index in range(16)]))
        await pilot.pause()
        assert panel.size.height == 16


async def test_mouse_over_a_row_tells_reasons() -> None:
    panel = GpuPanel(UNICODE)
    held = ProcessReading(float(NOW_S), 7, "python", "other", "GPU-1", 12 * GIB)
    other = gpu(1, power_w=None, temp_c=None, faults={"power_w": "not permitted", "temp_c": "not permitted"})
    async with Host(panel).run_test(size=(60, 16), tooltips=True) as pilot:
        panel.show(snapshot(gpu(0), other, processes=(held,)))
        await pilot.hover(panel, offset=(3, 1))
        assert isinstance(panel.tooltip, Content)
        assert panel.tooltip.plain.splitlines()[0] == "GPU 1  NVIDIA H200"
        assert "power, temperature: not permitted" in panel.tooltip.plain
        assert "processes hold 12.0 GiB" in panel.tooltip.plain
        await pilot.hover(panel, offset=(3, 9))
        assert panel.tooltip is None


async def test_detail_of_a_gpu_in_the_second_column() -> None:
    panel = GpuPanel(UNICODE)
    async with Host(panel).run_test(size=(80, 2)):
        panel.show(snapshot(*[gpu(index) for index in range(4)]))
        assert [(panel.detail_at(x, y) or "")[:5] for x, y in ((0, 0), (0, 1), (79, 0), (79, 1))] == [
            "GPU 0",
            "GPU 1",
            "GPU 2",
            "GPU 3",
        ]


async def test_ascii_draws_ascii_only() -> None:
    old = SamplerStatus("hanging", age_s=5.0)
    readings = [gpu(0), lost_gpu(1), gpu(2, power_w=None), gpu(3, mem_total_bytes=None, unified=True)]
    for status in (SamplerStatus("running", age_s=0.0), old):
        assert "".join(await shown(snapshot(*readings, status=status), glyphs=Glyphs(ascii=True))).isascii()


@pytest.mark.parametrize("name", ["显卡显卡显卡显卡 H200", "[/] [bold]x", "", "x" * 300])
async def test_foreign_names_keep_the_row_in_shape(name: str) -> None:
    panel = GpuPanel(UNICODE)
    async with Host(panel).run_test(size=(60, 4)):
        panel.show(snapshot(gpu(0, name=name), gpu(1)))
        assert panel.render_line(0).cell_length == 60
        assert panel.render_line(0).text.rstrip().endswith("612W 61°C")


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA A100-PCIE-40GB", "A100"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada Generation"),
        ("Tesla T4", "T4"),
        ("NVIDIA GB10", "GB10"),
        ("SIMULATED H200 141GB", "H200"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "1g.10gb"),
        ("GPU", "GPU"),
    ],
)
def test_short_names(name: str, short: str) -> None:
    assert short_name(name) == short


def test_changed_cells_of_wide_characters() -> None:
    before = (("ab界c", "text"),)
    assert list(changed([before], [(("ab界d", "text"),)], 6)) == [Region(4, 0, 1, 1)]
    assert list(changed([before], [(("ab界c", "bad"),)], 6)) == [Region(0, 0, 5, 1)]
    assert list(changed([before], [before, ((" ", ""),)], 6)) == []
    assert list(changed([before], [], 6)) == [Region(0, 0, 5, 1)]


def test_fitted_counts_cells() -> None:
    assert fitted("界界界", 5, "…") == "界界…"
    assert fitted("ab", 4, "…") == "ab  "
    assert fitted("ab", 0, "…") == ""
