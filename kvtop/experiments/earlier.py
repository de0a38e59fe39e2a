"""What earlier sessions of a run left behind."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kvtop.experiments.calibrate import Calibration


@dataclass(frozen=True, slots=True)
class Earlier:
    """The state in which a resumed run finds itself; empty for a new one."""

    finished_cells: Collection[str] = ()
    """Cells that need no further request."""
    ended_lengths: Collection[int] = ()
    """Lengths that cannot be measured: refused as too long, above the context, shorter than the template."""
    requests_sent: int = 0
    spent_tokens: int = 0
    calibration: Calibration | None = None
