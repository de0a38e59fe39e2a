"""A scan's document as text: table, slope, findings, curves."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from kvtop.cli.curve import WIDTH, draw_curve
from kvtop.model.quantity import GIB, MIB, UNKNOWN, format_bytes, format_seconds, format_tokens

_SIGNS = {"info": "i", "warning": "!", "problem": "x"}
_HEADLINE = "kv_slope"
"""The finding that is the answer of a scan; it stands under the table, not among the others."""
_COLUMNS = ("length", "prefix", "n", "failed", "prompt", "cached", "TTFT", "tok/s", "latency", "memory")


def report(document: Mapping[str, Any]) -> str:
    """Return the whole report of a `kvtop.scan/1` document."""
    parts = [_heading(document), _table(document["points"]), *_slope(document["findings"])]
    parts += [*curves(document), *_findings(document["findings"]), *_spent(document)]
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
    return draw_curve(f"TTFT in {unit}, {prefix} prefix (client clock){mark}", ttft, x_label="prompt tokens")


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
    return draw_curve(
        f"memory over base in {unit}, {prefix} prefix{read_as}{mark}", scaled, x_label="prompt tokens"
    )


def _heading(document: Mapping[str, Any]) -> str:
    simulated = "  SIMULATED" if document.get("simulated") else ""
    return f"{document['run']}  {document.get('state', '')}  path {document['path']}{simulated}"


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
    return ["\n".join(textwrap.wrap(text, WIDTH)) for text in headlines]


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
        lines += _wrapped(f"[{_SIGNS.get(finding['severity'], '?')}] {finding['text']}")
        lines += _wrapped(f"    {finding['hint']}") if finding["hint"] else []
    return ["\n".join(lines)] if lines else []


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="    ", break_on_hyphens=False)
