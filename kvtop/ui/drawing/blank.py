"""Why a tab of the curve panel has nothing to draw, in the words of the analysis where it has some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtop.ui.scan_view import ScanView

Tab = Literal["memory", "tokens", "latency", "speed"]
TABS: tuple[Tab, ...] = get_args(Tab)

_MEMORY_REASONS = (
    "remote_model",
    "pool_taken_at_start",
    "memory_not_watched",
    "memory_drifts",
    "memory_noisy",
    "rise_too_small",
    "slope_unclear",
    "base_missing",
    "short_decode",
    "others_moved",
)
"""Codes of findings, the one that explains most first; the first one holds before anything is measured."""
_NOTHING_REASONS = ("nothing_measured", "usage_missing", "requests_failed")
_UNKNOWN: dict[Tab, str] = {
    "memory": "No memory was read for these requests.",
    "tokens": "No token counts were reported.",
    "latency": "No times were measured.",
    "speed": "No decode speed was measured: it takes a streamed answer of two tokens and more.",
}


@dataclass(frozen=True, slots=True)
class Blank:
    """Why there is no curve, and what to do."""

    text: str
    hint: str = ""


NO_RUN = Blank("No run yet.", "Press s to start a length scan.")
_WAITING = Blank("No point yet.", "A point comes when a request of the scan has ended.")
_NOTHING = Blank("Nothing was measured.", "The findings and the request log say why.")


def why_blank(view: ScanView, tab: Tab) -> Blank:
    """Return what a tab says instead of a curve."""
    about_memory = _MEMORY_REASONS if tab == "memory" else ()
    if any(point.prompt_tokens is not None for point in view.points):
        return _finding(view, about_memory) or _own_reason(view, tab)
    if view.running:
        return _finding(view, about_memory[:1]) or _WAITING
    return _finding(view, (*about_memory[:1], *_NOTHING_REASONS, *about_memory)) or _NOTHING


def _own_reason(view: ScanView, tab: Tab) -> Blank:
    if tab == "memory" and view.memory and view.memory.reason:
        return Blank(f"No memory per token: {view.memory.reason}.")
    return Blank(_UNKNOWN[tab])


def _finding(view: ScanView, codes: Sequence[str]) -> Blank | None:
    by_code = {finding.code: finding for finding in reversed(view.findings)}
    found = next((by_code[code] for code in codes if code in by_code), None)
    return Blank(found.text, found.hint) if found else None
