"""Rows of a run that is followed: records in memory, replaced by id."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kvtop.ui.requests.log_row import LogRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kvtop.model.record import RequestRecord
    from kvtop.ui.requests.filter import RequestFilter


@dataclass(frozen=True, slots=True)
class Added:
    """What a batch of records changed."""

    replaced: tuple[int, ...]
    """Numbers of rows that hold another record than before."""
    appended: int


class LiveRows:
    """Records in the order they came. One whose run and id were seen before takes the old one's place."""

    complete = True

    def __init__(self) -> None:
        self._rows: list[LogRow] = []
        self._numbers: dict[tuple[str, str], int] = {}

    @property
    def span(self) -> range:
        """The numbers of all rows."""
        return range(len(self._rows))

    def add(self, records: Iterable[RequestRecord], run_id: str) -> Added:
        """Take records of a run."""
        before = len(self._rows)
        replaced = set()
        for record in records:
            row = LogRow(record, run_id)
            number = self._numbers.setdefault((run_id, record.id), len(self._rows))
            if number == len(self._rows):
                self._rows.append(row)
            elif self._rows[number] != row:
                self._rows[number] = row
                replaced.add(number)
        return Added(tuple(sorted(n for n in replaced if n < before)), len(self._rows) - before)

    def row(self, number: int) -> LogRow | None:
        """Return a row."""
        return self._rows[number] if 0 <= number < len(self._rows) else None

    def load(self, numbers: Sequence[int]) -> None:
        """Do nothing: all rows are in memory."""

    def matching(self, numbers: Iterable[int], wanted: RequestFilter) -> list[int]:
        """Return those of `numbers` whose rows match."""
        return [number for number in numbers if wanted.matches(partial(_value, self._rows[number]))]


def _value(row: LogRow, name: str) -> object:
    return row.run_id if name == "run_id" else getattr(row.record, name)
