"""A picture of characters with a role each, which a widget gives a style."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from kvtop.ui.drawing.chart import CURVES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

AXIS = "axis"
NOTE = "note"
BAND = "band"
DRAWN_ROLES = (BAND, "theory", *(f"curve-{number}" for number in range(1, CURVES + 1)))
PLOT_ROLES = (AXIS, NOTE, *DRAWN_ROLES)


@dataclass(frozen=True, slots=True)
class Run:
    """Characters of one row that are drawn in one style."""

    text: str
    role: str
    """One of `PLOT_ROLES`, or what a caller adds."""


Row = tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """Characters and their roles by row, the top one first. All characters are one cell wide."""

    cells: list[list[str]]
    roles: list[list[str]]

    def write(self, row: int, column: int, text: str, role: str) -> None:
        """Put text over what is there, cut at the right end."""
        end = min(column + len(text), len(self.cells[row]))
        self.cells[row][column:end] = list(text[: end - column])
        self.roles[row][column:end] = [role] * (end - column)

    def place(self, notes: Sequence[str], left: int, rows: int) -> None:
        """Write notes where nothing is drawn, right of `left` in the first `rows`.

        All of them, or as many of the first as find room.
        """
        for count in range(len(notes), 0, -1):
            size = max(map(len, notes[:count])), count
            for row, column in self._corners(left, rows, *size):
                if self._is_free(left, rows, row, column, size):
                    for offset, note in enumerate(notes[:count]):
                        self.write(row + offset, column, note, NOTE)
                    return

    def rows(self) -> tuple[Row, ...]:
        """Return the picture as runs."""
        return tuple(_runs(text, roles) for text, roles in zip(self.cells, self.roles, strict=True))

    def _corners(self, left: int, rows: int, wide: int, high: int) -> Iterator[tuple[int, int]]:
        """Yield places for a block, from the top down at the left, then from the bottom up at the right."""
        room = range(max(rows - high + 1, 0))
        yield from ((row, left + 2) for row in room)
        yield from ((row, len(self.cells[0]) - wide - 1) for row in reversed(room))

    def _is_free(self, left: int, rows: int, row: int, column: int, size: tuple[int, int]) -> bool:
        """Return whether a block and one cell around it are blank."""
        wide, high = size
        if column < left + 1 or column + wide > len(self.cells[0]):
            return False
        around = self.cells[max(row - 1, 0) : min(row + high + 1, rows)]
        return all(cell == " " for line in around for cell in line[column - 1 : column + wide + 1])


def changed_columns(before: Row, after: Row, width: int) -> tuple[int, int] | None:
    """Return where two rows of `width` differ, as first column and number of columns; None where nowhere."""
    if before == after:
        return None
    old, new = _padded(before, width), _padded(after, width)
    if old is None or new is None:
        return 0, width
    differing = [column for column in range(width) if new[column] != old[column]]
    return (differing[0], differing[-1] - differing[0] + 1) if differing else None


def _padded(row: Row, width: int) -> list[tuple[str, str]] | None:
    """Return character and role by column, or None where a character is not one column wide."""
    text = "".join(run.text for run in row)
    if cell_len(text) != len(text):
        return None
    cells = [(cell, "" if cell == " " else run.role) for run in row for cell in run.text]
    return (cells + [(" ", "")] * (width - len(cells)))[:width]


def _runs(characters: Sequence[str], roles: Sequence[str]) -> Row:
    """Return one row as runs. Blanks belong to the run before them: they look the same in any colour."""
    runs: list[Run] = []
    start = 0
    for index in range(1, len(characters)):
        if characters[index] != " " and roles[index] != roles[start]:
            runs.append(Run("".join(characters[start:index]), roles[start]))
            start = index
    runs.append(Run("".join(characters[start:]), roles[start]))
    return tuple(runs)
