"""One row of the request log, and what any source of rows can do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique
from typing import TYPE_CHECKING, Protocol

from kvtop.ui.drawing.glyphs import Glyph

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kvtop.model.record import RequestRecord
    from kvtop.ui.requests.filter import RequestFilter


@unique
class State(Enum):
    """How far a request is, with its glyph and its word."""

    OK = (Glyph.DONE, "ok")
    FAILED = (Glyph.FAILED, "failed")
    RUNNING = (Glyph.RUNNING, "running")
    UNREADABLE = (Glyph.WARNING, "unreadable")

    @property
    def glyph(self) -> Glyph:
        """The character before the word."""
        return self.value[0]

    @property
    def word(self) -> str:
        """What the filter and the screen call it."""
        return self.value[1]


@dataclass(frozen=True, slots=True)
class LogRow:
    """A request, or a line of a log that is none."""

    record: RequestRecord | None
    run_id: str = ""
    problem: str = ""
    """Why there is no record."""

    @property
    def state(self) -> State:
        """How far the request is."""
        if self.record is None:
            return State.UNREADABLE
        if self.record.failure is not None:
            return State.FAILED
        return State.RUNNING if is_running(self.record) else State.OK


def is_running(record: RequestRecord) -> bool:
    """Whether a record is of a request that has been sent and not ended: no end, status or latency yet."""
    has_ended = record.end_ts > record.ts or record.latency_s is not None or record.status is not None
    return record.failure is None and not has_ended


class RequestRows(Protocol):
    """Rows by number. The newest row at opening is -1, older ones count down, later ones up from 0.

    A number stays with its row. `load` and `matching` may read a file: they are for threads, and safe
    beside the other methods, which never do.
    """

    @property
    def span(self) -> range:
        """The numbers of all rows known by now, oldest first."""

    @property
    def complete(self) -> bool:
        """Whether all older rows are known."""

    def row(self, number: int) -> LogRow | None:
        """Return a row, None where it is not in memory."""

    def load(self, numbers: Sequence[int]) -> None:
        """Bring rows into memory."""

    def matching(self, numbers: Iterable[int], wanted: RequestFilter) -> list[int]:
        """Return those of `numbers` whose rows match, in the same order."""
