"""How long the rest of a scan will take, from the requests measured so far."""

from __future__ import annotations

from collections.abc import Sequence

from kvtop.model.plan import ScanCell
from kvtop.model.record import RequestRecord


class Pace:
    """Splits the time of a cell into prefill, which grows with the prompt, and the rest, which does not."""

    def __init__(self) -> None:
        self._cells = 0
        self._prompt_tokens = 0
        self._prefill_s = 0.0

    def add(self, cell: ScanCell, record: RequestRecord) -> None:
        """Take note of a cell and of its last record."""
        self._cells += 1
        self._prompt_tokens += record.prompt_tokens or cell.target_tokens
        self._prefill_s += record.ttft_s or 0.0

    def left_s(self, elapsed_s: float, left: Sequence[ScanCell]) -> float | None:
        """Return the seconds that the cells in `left` will take; None before the first cell has ended."""
        if not self._cells:
            return None
        rest_s = max(elapsed_s - self._prefill_s, 0.0) / self._cells
        prefill_s = self._prefill_s / self._prompt_tokens
        return rest_s * len(left) + prefill_s * sum(cell.target_tokens for cell in left)
