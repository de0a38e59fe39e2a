"""Which panels are on the screen, for its size and what the user has chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mode = Literal["cockpit", "tabs", "too-small"]

GPUS, REQUESTS, CURVES, FINDINGS = 1, 2, 3, 4
PANELS = {GPUS: "GPUs", REQUESTS: "Requests", CURVES: "Curves", FINDINGS: "Findings"}
"""Names by number, which is also the key."""

COCKPIT_WIDTH, COCKPIT_HEIGHT = 110, 32
"""From this size on all panels are shown at once, in cells."""
SMALLEST_WIDTH, SMALLEST_HEIGHT = 40, 10


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What is shown."""

    mode: Mode
    visible: frozenset[int]
    """Numbers of the panels in view."""


def arrange(width: int, height: int, chosen: int | None, *, has_findings: bool) -> Arrangement:
    """Return what a screen of this size shows. `chosen` is the panel that the user wants alone, or None."""
    if width < SMALLEST_WIDTH or height < SMALLEST_HEIGHT:
        return Arrangement("too-small", frozenset())
    mode: Mode = "cockpit" if width >= COCKPIT_WIDTH and height >= COCKPIT_HEIGHT else "tabs"
    if chosen is not None:
        return Arrangement(mode, frozenset({chosen}))
    if mode == "tabs":
        return Arrangement(mode, frozenset({GPUS}))
    return Arrangement(mode, frozenset(PANELS if has_findings else PANELS.keys() - {FINDINGS}))
