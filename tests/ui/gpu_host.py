"""A tiny app around one widget, and readings to show in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from textual.app import App, ComposeResult

from kvtop.model.quantity import GIB
from kvtop.model.reading import GpuDevice, GpuReading, ProcessReading
from kvtop.telemetry.sample import SamplerStatus
from kvtop.ui.messages import GpuSnapshot
from kvtop.ui.theme_files import load_themes

if TYPE_CHECKING:
    from textual.geometry import Region
    from textual.widget import Widget

    from kvtop.ui.widgets.painted_lines import PaintedLines

NOW_S = 1_000_000
RUNNING = SamplerStatus("running", age_s=0.1)


class Host(App[None]):
    """Shows one widget over the whole screen, in the default theme."""

    CSS = "Host > Screen > * { height: 1fr; }"

    def __init__(self, *widgets: Widget) -> None:
        super().__init__()
        self._shown = widgets

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(load_themes({}).themes["dark"].variables)

    def compose(self) -> ComposeResult:
        yield from self._shown


def lines_of(widget: PaintedLines) -> list[str]:
    """Return the text of each line, blanks at its end taken off."""
    return [widget.render_line(y).text.rstrip() for y in range(widget.size.height)]


def watch_refresh(widget: Widget) -> list[tuple[Region, ...]]:
    """Return a list that every refresh of the widget adds its regions to."""
    seen: list[tuple[Region, ...]] = []
    original = widget.refresh

    def refresh(*regions: Region, **options: bool) -> Any:
        seen.append(regions)
        return original(*regions, **options)

    widget.refresh = refresh  # type: ignore[method-assign]  # a spy in the widget's place
    return seen


def gpu(index: int, **fields: Any) -> GpuReading:
    """Return a reading of an H200 with 60 GiB in use."""
    name = fields.pop("name", "NVIDIA H200")
    known: dict[str, Any] = {
        "mem_used_bytes": 60 * GIB,
        "mem_total_bytes": 140 * GIB,
        "util_pct": 87.0,
        "power_w": 612.0,
        "temp_c": 61.0,
        "sm_clock_mhz": 1980,
    }
    device = GpuDevice(index, f"GPU-{index}", name, fields.pop("bus_id", None), **fields.pop("device", {}))
    return GpuReading(float(NOW_S), device, **{**known, **fields})


def lost_gpu(index: int, lost_ts: float | None = None) -> GpuReading:
    """Return the reading of a GPU that fell off the bus."""
    gone = dict.fromkeys(
        ("mem_used_bytes", "mem_total_bytes", "util_pct", "power_w", "temp_c", "sm_clock_mhz")
    )
    return gpu(index, **gone, faults={"device": "GPU is lost"}, lost_ts=lost_ts)


def snapshot(
    *readings: GpuReading,
    processes: tuple[ProcessReading, ...] = (),
    status: SamplerStatus = RUNNING,
    base_bytes: Mapping[str, int] | None = None,
) -> GpuSnapshot:
    """Return a snapshot without history."""
    return GpuSnapshot(readings, processes, status, {}, base_bytes or {})
