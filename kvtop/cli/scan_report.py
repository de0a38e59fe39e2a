"""A scan's document as text: findings, curves, table, slope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kvtop.cli.curve import draw_curve
from kvtop.cli.wrapping import text_width, wrapped
from kvtop.model.quantity import GIB, MIB, UNKNOWN, format_bytes, format_seconds, format_tokens

_SIGNS = {"info": "i", "warning": "!", "problem": "x"}
_HEADLINE = "kv_slope"
"""The finding that is the answer of a scan; it stands under the table, not among the others."""
_COLUMNS = ("length", "prefix", "n", "failed", "prompt", "cached", "TTFT", "tok/s", "latency", "memory")


def report(document: Mapping[str, Any], about: Sequence[str] = ()) -> str:
    """Return the whole report of a `kvtop.scan/1` document, the answer last: table and slope.

    `about` says under the heading what the run folder tells besides: which engine and memory are read.
    """
    parts = [_heading(document, about), *_findings(document["findings"]), *curves(document)]
    parts += [*_spent(document), _table(document["points"]), *_slope(document["findings"])]
    return "\n\n".join(part for part in parts if part)


def curves(document: Mapping[str, Any]) -> list[str]:
    """Return the text curves that the document has points for: memory first, then TTFT."""
    drawn: list[str] = []
    for prefix in dict.fromkeys(point["prefix"] for point in document["points"]):
        points = [point for point in document["points"] if point["prefix"] == prefix]
        mark = " SIMULATED" if document.get("simulated") else ""
        if any(point["mem_delta_bytes"] is not None for point in points):
            drawn.append(_memory_curve(points, prefix, mark))
        drawn.append(_ttft_curve(points, prefix, mark))
    return [curve for curve in drawn if curve]


def _ttft_curve(points: Sequence[Mapping[str, Any]], prefix: str, mark: str) -> str:
    known = [point["ttft_s"] for point in points if point["ttft_s"] is not None]
    unit, factor = ("s", 1) if max(known, default=0) >= 1 else ("ms", 1000)
    ttft = [
        (point["prompt_tokens"], None if point["ttft_s"] is None else point["ttft_s"] * factor)
        for point in points
    ]
    title = f"TTFT in {unit}, {prefix} prefix (client clock){mark}"
    return draw_curve(title, ttft, x_label="prompt tokens", x_names=_names(points))


def _names(points: Sequence[Mapping[str, Any]]) -> dict[float, str]:
    """Return what to call each measured length on an axis: the target, where it was met."""
    return {
        point["prompt_tokens"]: format_tokens(point["target_tokens"]).replace(",", "")
        for point in points
        if point["prompt_tokens"] is not None and _is_met(point["target_tokens"], point["prompt_tokens"])
    }


def _is_met(target_tokens: float, prompt_tokens: float) -> bool:
    return abs(prompt_tokens - target_tokens) <= max(target_tokens * 0.01, 16)


def _memory_curve(points: Sequence[Mapping[str, Any]], prefix: str, mark: str) -> str:
    deltas = [point["mem_delta_bytes"] for point in points if point["mem_delta_bytes"] is not None]
    unit, factor = ("GiB", GIB) if max(deltas) >= GIB else ("MiB", MIB)
    scaled = [
        (
            point["prompt_tokens"],
            None if point["mem_delta_bytes"] is None else point["mem_delta_bytes"] / factor,
        )
        for point in points
    ]
    origin = next((point["mem_origin"] for point in points if point["mem_origin"]), "")
    read_as = "" if mark else f" ({origin})"
    title = f"memory over base in {unit}, {prefix} prefix{read_as}{mark}"
    return draw_curve(title, scaled, x_label="prompt tokens", x_names=_names(points))


def _heading(document: Mapping[str, Any], about: Sequence[str]) -> str:
    simulated = "  SIMULATED" if document.get("simulated") else ""
    head = f"{document['run']}  {document.get('state', '')}  path {document['path']}{simulated}"
    return "\n".join([head, *(line for text in about for line in _wrapped(text))])


def _table(points: Sequence[Mapping[str, Any]]) -> str:
    if not points:
        return "Nothing was measured."
    rows = [_COLUMNS, *(_row(point) for point in points)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
    )


def _row(point: Mapping[str, Any]) -> tuple[str, ...]:
    decode = point["decode_tok_s"]
    return (
        format_tokens(point["target_tokens"]),
        point["prefix"],
        str(point["n"]),
        str(point["failed"]),
        _count(point["prompt_tokens"]),
        _count(point["cached_tokens"]),
        format_seconds(point["ttft_s"]),
        UNKNOWN if decode is None else f"{decode:,.1f}",
        format_seconds(point["latency_s"]),
        format_bytes(point["mem_delta_bytes"]),
    )


def _count(value: float | None) -> str:
    return UNKNOWN if value is None else f"{round(value):,}"


def _slope(findings: Sequence[Mapping[str, Any]]) -> list[str]:
    headlines = (finding["text"] for finding in findings if finding["code"] == _HEADLINE)
    return ["\n".join(wrapped(text, text_width())) for text in headlines]


def _spent(document: Mapping[str, Any]) -> list[str]:
    spent = document.get("spent")
    if not spent:
        return []
    cost = "" if spent.get("cost") is None else f", {spent['currency']} {spent['cost']:,.4f}"
    prompt, completion = _count(spent.get("prompt_tokens")), _count(spent.get("completion_tokens"))
    return [f"spent: {prompt} prompt and {completion} completion tokens{cost}"]


def _findings(findings: Sequence[Mapping[str, Any]]) -> list[str]:
    lines: list[str] = []
    for finding in findings:
        if finding["code"] == _HEADLINE:
            continue
        lines += _wrapped(finding["text"], f"[{_SIGNS.get(finding['severity'], '?')}] ")
        lines += _wrapped(finding["hint"], "    ") if finding["hint"] else []
    return ["\n".join(lines)] if lines else []


def _wrapped(text: str, first: str = "") -> list[str]:
    return wrapped(text, text_width(), first=first, rest="    ")
