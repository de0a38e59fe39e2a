"""A `kvtop.scan/1` document as values: what it holds of the wrong type counts as unknown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from kvtop.model.finding import Finding
from kvtop.model.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from kvtop.model.finding import Severity

SCHEMA = "kvtop.scan/1"
Field = Literal[
    "prompt_tokens",
    "cached_tokens",
    "ttft_s",
    "ttft_max_s",
    "latency_s",
    "decode_tok_s",
    "e2e_tok_s",
    "kv_bytes",
    "mem_delta_bytes",
]
"""The numbers of a point that can be drawn."""
_SEVERITIES: tuple[Severity, ...] = ("problem", "warning", "info")
_TEXT_LIMIT = 2000
_MOST_ENTRIES = 4096


@dataclass(frozen=True, slots=True)
class PointView:
    """One length with one kind of prefix: medians over repeats, None where unknown."""

    target_tokens: float | None = None
    prefix: str = ""
    prompt_tokens: float | None = None
    cached_tokens: float | None = None
    ttft_s: float | None = None
    ttft_min_s: float | None = None
    ttft_max_s: float | None = None
    latency_s: float | None = None
    decode_tok_s: float | None = None
    e2e_tok_s: float | None = None
    kv_bytes: float | None = None
    mem_delta_bytes: float | None = None
    mem_origin: str = ""

    def value_of(self, field: Field) -> float | None:
        """Return one of the numbers by its name."""
        value: float | None = getattr(self, field)
        return value


@dataclass(frozen=True, slots=True)
class SlopeView:
    """Bytes per token. `ci_*` is the 95 % interval."""

    bytes_per_token: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    r2: float | None = None
    theory_bytes_per_token: float | None = None
    intercept_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class MemoryView:
    """What the analysis says of the watched memory."""

    origin: str = ""
    flat: bool = False
    """Taken at start: its level says nothing of a token."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ScanView:
    """What of a document is drawn."""

    run: str = ""
    path: str = ""
    running: bool = False
    simulated: bool = False
    points: tuple[PointView, ...] = ()
    slope: SlopeView | None = None
    memory: MemoryView | None = None
    findings: tuple[Finding, ...] = ()

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Self:
        """Return the view of a document. Never raises for what it holds."""
        slope, memory = document.get("kv_slope"), document.get("memory")
        return cls(
            run=_text(document, "run"),
            path=_text(document, "path"),
            running=document.get("state") == "running",
            simulated=document.get("simulated") is True,
            points=tuple(_point(entry) for entry in _entries(document, "points")),
            slope=_slope(slope) if isinstance(slope, dict) else None,
            memory=_memory(memory) if isinstance(memory, dict) else None,
            findings=findings_of(document),
        )


def findings_of(document: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return the findings of any kvtop document in its order, their texts cleaned."""
    return tuple(_finding(entry) for entry in _entries(document, "findings"))


def _entries(document: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    entries = document.get(key)
    if not isinstance(entries, list):
        return []
    return [entry for entry in entries[:_MOST_ENTRIES] if isinstance(entry, dict)]


def _point(entry: Mapping[str, Any]) -> PointView:
    return PointView(
        target_tokens=_number(entry, "target_tokens"),
        prefix=_text(entry, "prefix", 32),
        prompt_tokens=_number(entry, "prompt_tokens"),
        cached_tokens=_number(entry, "cached_tokens"),
        ttft_s=_number(entry, "ttft_s"),
        ttft_min_s=_number(entry, "ttft_min_s"),
        ttft_max_s=_number(entry, "ttft_max_s"),
        latency_s=_number(entry, "latency_s"),
        decode_tok_s=_number(entry, "decode_tok_s"),
        e2e_tok_s=_number(entry, "e2e_tok_s"),
        kv_bytes=_number(entry, "kv_bytes"),
        mem_delta_bytes=_number(entry, "mem_delta_bytes"),
        mem_origin=_text(entry, "mem_origin", 32),
    )


def _slope(entry: Mapping[str, Any]) -> SlopeView:
    return SlopeView(
        bytes_per_token=_number(entry, "bytes_per_token"),
        ci_low=_number(entry, "ci_low"),
        ci_high=_number(entry, "ci_high"),
        r2=_number(entry, "r2"),
        theory_bytes_per_token=_number(entry, "theory_bytes_per_token"),
        intercept_bytes=_number(entry, "intercept_bytes"),
    )


def _memory(entry: Mapping[str, Any]) -> MemoryView:
    return MemoryView(_text(entry, "origin", 32), entry.get("flat") is True, _text(entry, "reason"))


def _finding(entry: Mapping[str, Any]) -> Finding:
    named, evidence = entry.get("severity"), entry.get("evidence")
    return Finding(
        code=_text(entry, "code", 60),
        severity=next((severity for severity in _SEVERITIES if severity == named), "warning"),
        text=_text(entry, "text", _TEXT_LIMIT),
        hint=_text(entry, "hint", _TEXT_LIMIT),
        evidence=evidence if isinstance(evidence, dict) else {},
    )


def _text(entry: Mapping[str, Any], key: str, limit: int = 400) -> str:
    value = entry.get(key)
    return clean_text(value, limit) if isinstance(value, str) else ""


def _number(entry: Mapping[str, Any], key: str) -> float | None:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
