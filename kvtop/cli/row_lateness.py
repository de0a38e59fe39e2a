"""How late the readings in a file were: the `late_ms` of its rows, summed up."""

from __future__ import annotations

import math
from collections import Counter

_US = 1_000_000


class RowLateness:
    """Counts the lateness of each row to the microsecond, as the file has it."""

    def __init__(self) -> None:
        self._rows: Counter[int] = Counter()

    def add(self, late_s: float) -> None:
        """Count one row."""
        self._rows[round(late_s * _US)] += 1

    def percentile(self, share: float) -> float | None:
        """Return the lateness in seconds that this share of the rows does not exceed; None without rows."""
        left = math.ceil(share * self._rows.total())
        for late_us, rows in sorted(self._rows.items()):
            left -= rows
            if left <= 0:
                return late_us / _US
        return None
