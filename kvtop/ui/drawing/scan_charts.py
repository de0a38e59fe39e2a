"""The charts of a length scan, or in words why there is nothing to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtop.model.quantity import KIB
from kvtop.ui.drawing.blank import why_blank
from kvtop.ui.drawing.chart import Chart, Curve, Range, byte_unit, second_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kvtop.ui.drawing.blank import Blank, Tab
    from kvtop.ui.drawing.chart import Place
    from kvtop.ui.scan_view import Field, PointView, ScanView, SlopeView


CLIENT_CLOCK = "client clock"
USAGE = "usage"
USAGE_OVER_CLOCK = "usage, client clock"
COUNTERS = "engine counters"

_NEARLY_1 = 0.9999
"""Above it four digits would say 1."""


def chart_of(view: ScanView, tab: Tab) -> Chart | Blank:
    """Return what a tab shows of a scan."""
    chart = _BUILDERS[tab](view)
    if any(y is not None and x is not None for curve in chart.curves for x, y in curve.places):
        return chart
    return why_blank(view, tab)


def _memory(view: ScanView) -> Chart:
    counted = any(point.kv_bytes is not None for point in view.points)
    field: Field = "kv_bytes" if counted else "mem_delta_bytes"
    unit, size = byte_unit(_highest(view.points, (field,)))
    flat = view.memory is not None and view.memory.flat and not counted
    label = "KV in use" if counted else "memory over base"
    measured = () if flat else _curves(view, {label: field}, size)
    origin = COUNTERS if counted else next((p.mem_origin for p in view.points if p.mem_origin), "")
    notes = _slope_notes(view.slope) if view.slope else ()
    return Chart((*measured, *_theory(view, size, measured)), unit, origin, notes, _x_end(view))


def _tokens(view: ScanView) -> Chart:
    fields: dict[str, Field] = {"prompt": "prompt_tokens", "cached": "cached_tokens"}
    if all(point.cached_tokens is None for point in view.points):
        del fields["cached"]
    measured = _curves(view, fields, 1.0)
    asked = tuple((p.prompt_tokens, p.target_tokens) for p in _ascending(view.points) if p.prompt_tokens)
    notes = tuple(_off_target(view.points))
    wanted = (Curve("target", asked, dashed=True),) if asked else ()
    return Chart((*measured, *wanted), "tokens", USAGE, notes, _x_end(view))


def _latency(view: ScanView) -> Chart:
    unit, size = second_unit(_highest(view.points, ("ttft_s", "latency_s", "ttft_max_s")))
    measured = _curves(view, {"TTFT": "ttft_s", "total": "latency_s"}, size)
    return Chart(measured, unit, CLIENT_CLOCK, (), _x_end(view))


def _speed(view: ScanView) -> Chart:
    fields: dict[str, Field] = {"decode": "decode_tok_s", "e2e": "e2e_tok_s"}
    if all(point.e2e_tok_s is None for point in view.points):
        del fields["e2e"]
    return Chart(_curves(view, fields, 1.0), "tok/s", USAGE_OVER_CLOCK, (), _x_end(view))


_BUILDERS: dict[Tab, Callable[[ScanView], Chart]] = {
    "memory": _memory,
    "tokens": _tokens,
    "latency": _latency,
    "speed": _speed,
}


def _curves(view: ScanView, fields: dict[str, Field], size: float) -> tuple[Curve, ...]:
    """Return one curve a prefix and field, named by what tells it from the others."""
    prefixes = list(dict.fromkeys(point.prefix for point in view.points))
    found: list[Curve] = []
    for prefix in prefixes:
        points = _ascending(point for point in view.points if point.prefix == prefix)
        for name, field in fields.items():
            label = f"{name} {prefix}" if len(prefixes) > 1 else name
            places = tuple(_place(point, field, size) for point in points)
            ranges = _ttft_ranges(points, size) if field == "ttft_s" else ()
            found.append(Curve(label, places, len(found), ranges=ranges))
    return tuple(found)


def _place(point: PointView, field: Field, size: float) -> Place:
    value = point.value_of(field)
    return point.prompt_tokens, None if value is None else value / size


def _ttft_ranges(points: Iterable[PointView], size: float) -> tuple[Range, ...]:
    return tuple(
        Range(point.prompt_tokens, point.ttft_min_s / size, point.ttft_max_s / size)
        for point in points
        if point.prompt_tokens is not None
        and point.ttft_min_s is not None
        and point.ttft_max_s is not None
        and point.ttft_min_s < point.ttft_max_s
    )


def _theory(view: ScanView, size: float, measured: Sequence[Curve]) -> tuple[Curve, ...]:
    per_token = view.slope.theory_bytes_per_token if view.slope else None
    xs = [x for curve in measured for x, _ in curve.places if x is not None]
    if per_token is None or not xs:
        return ()
    return (Curve("theory", ((0.0, 0.0), (max(xs), per_token * max(xs) / size)), dashed=True),)


def _slope_notes(slope: SlopeView) -> tuple[str, ...]:
    if slope.bytes_per_token is None:
        return ()
    notes = [f"slope {slope.bytes_per_token / KIB:,.1f} KiB/token"]
    if slope.ci_low is not None and slope.ci_high is not None:
        notes.append(f"95 % CI {slope.ci_low / KIB:,.1f} – {slope.ci_high / KIB:,.1f}")
    if slope.r2 is not None:
        notes.append(f"R² {slope.r2:.4f}" if slope.r2 < _NEARLY_1 else f"R² > {_NEARLY_1}")
    if slope.theory_bytes_per_token is not None:
        notes.append(f"theory {slope.theory_bytes_per_token / KIB:,.1f} KiB/token")
    return tuple(notes)


def _off_target(points: Iterable[PointView]) -> Iterable[str]:
    off = [
        (point.prompt_tokens / point.target_tokens - 1) * 100
        for point in points
        if point.prompt_tokens is not None and point.target_tokens
    ]
    if off:
        # Adding 0 takes the sign off a rounded -0.0.
        low, high = (f"{round(value, 1) + 0.0:+.1f}" for value in (min(off), max(off)))
        yield f"{low} % from target" if low == high else f"{low} … {high} % from target"


def _x_end(view: ScanView) -> float | None:
    """Return how far the axis goes: while points are to come, as far as the longest prompt asked for."""
    if not view.running:
        return None
    return max((point.target_tokens or 0.0 for point in view.points), default=None)


def _ascending(points: Iterable[PointView]) -> list[PointView]:
    return sorted(points, key=lambda point: point.target_tokens or point.prompt_tokens or 0.0)


def _highest(points: Iterable[PointView], fields: Iterable[Field]) -> float:
    values = (point.value_of(field) for point in points for field in fields)
    return max((value for value in values if value is not None), default=0.0)
