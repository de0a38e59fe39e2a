"""Which rows are shown, in which order: all of them, or those a filter has found so far."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtop.ui.requests.log_row import RequestRows


class RowView:
    """Row numbers by place on screen, oldest first. Grows at both ends, so places shift; numbers do not."""

    def __init__(self, rows: RequestRows, *, filtered: bool = False) -> None:
        self.rows = rows
        self._span = range(rows.span.stop, rows.span.stop) if filtered else rows.span
        self._matches: array[int] | None = array("q") if filtered else None

    def __len__(self) -> int:
        return len(self._span if self._matches is None else self._matches)

    @property
    def tested_to(self) -> int:
        """The number after the newest row that was looked at."""
        return self._span.stop

    def number_at(self, place: int) -> int:
        """Return the number of the row at `place`, which is below the length."""
        return (self._span if self._matches is None else self._matches)[place]

    def place_of(self, number: int) -> int:
        """Return the place of a row, or of the next newer one that is shown; the length if there is none."""
        if self._matches is None:
            return min(max(number - self._span.start, 0), len(self))
        return bisect_left(self._matches, number)

    def take_new(self) -> tuple[int, range]:
        """Look at the source again. Return how many rows came in front, and the new ones at the end.

        A filtered view shows none of them before `add` says which match.
        """
        seen, self._span = self._span, self.rows.span
        newer = range(seen.stop, self._span.stop)
        if self._matches is not None:
            self._span = range(seen.start, self._span.stop)
            return 0, newer
        return seen.start - self._span.start, newer

    def add(self, numbers: Sequence[int]) -> int:
        """Show the rows `numbers`, ascending, that match. Return how many of them came in front."""
        if self._matches is None or not numbers:
            return 0
        found = array("q", numbers)
        if not self._matches or found[0] > self._matches[-1]:
            self._matches.extend(found)
            return 0
        if found[-1] < self._matches[0]:
            self._matches = found + self._matches
            return len(found)
        first = self._matches[0]
        self._matches = array("q", sorted({*self._matches, *found}))
        return bisect_left(self._matches, first)

    def drop(self, number: int) -> None:
        """Show the row `number` no more, where it no longer matches."""
        place = self.place_of(number)
        if self._matches is not None and place < len(self._matches) and self._matches[place] == number:
            del self._matches[place]
