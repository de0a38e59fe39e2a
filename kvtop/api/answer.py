"""An answer as it grows: instants of its events, its counts, the beginning of its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtop.api.usage import merge_usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvtop.api.dialect import Piece

TEXT_LIMIT = 4096
"""Characters of the answer text that are kept."""


class Answer:
    """Takes pieces of one answer. Instants are `perf_counter_ns`, None until they come."""

    def __init__(self) -> None:
        self.first_event_ns: int | None = None
        self.first_text_ns: int | None = None
        self.first_answer_ns: int | None = None
        self.last_text_ns: int | None = None
        self.finish_ns: int | None = None
        self.done_ns: int | None = None
        self.text_events = 0
        self.text = ""
        self.finish_reason: str | None = None
        self.raw_usage: Mapping[str, Any] | None = None
        self.is_recognised = False
        self.is_streamed = True

    def take(self, piece: Piece, at_ns: int) -> None:
        """Take a stream event that was read from the socket at `at_ns`."""
        self.first_event_ns = self.first_event_ns or at_ns
        if piece.has_text:
            self._take_text(piece, at_ns)
        if piece.is_done:
            self.done_ns = self.done_ns or at_ns
        self._take_meaning(piece, at_ns)

    def take_whole(self, piece: Piece, at_ns: int) -> None:
        """Take an answer that came in one JSON body, complete at `at_ns`."""
        self.is_streamed = False
        self.text = piece.answer[:TEXT_LIMIT]
        self.done_ns = at_ns
        self._take_meaning(piece, at_ns)

    @property
    def has_ended(self) -> bool:
        """Whether a finish reason or the end mark came."""
        return self.finish_ns is not None or self.done_ns is not None

    @property
    def end_ns(self) -> int | None:
        """Instant of the end: the finish reason or the last text, whichever came later."""
        known = [at for at in (self.finish_ns, self.last_text_ns) if at is not None]
        return (max(known) if known else self.done_ns) if self.has_ended else None

    @property
    def notes(self) -> tuple[str, ...]:
        """What is odd about an answer that has ended."""
        odd = {
            "not_streamed": not self.is_streamed,
            "no_done_mark": self.done_ns is None,
            "no_finish_reason": self.finish_reason is None,
            "no_text": self.is_streamed and not self.text_events,
        }
        return tuple(note for note, applies in odd.items() if applies)

    def _take_text(self, piece: Piece, at_ns: int) -> None:
        self.text_events += 1
        self.first_text_ns = self.first_text_ns or at_ns
        self.last_text_ns = at_ns
        if piece.answer:
            self.first_answer_ns = self.first_answer_ns or at_ns
            self.text += piece.answer[: TEXT_LIMIT - len(self.text)]

    def _take_meaning(self, piece: Piece, at_ns: int) -> None:
        self.is_recognised = self.is_recognised or piece.recognised
        if piece.finish_reason is not None:
            self.finish_reason = piece.finish_reason
            self.finish_ns = self.finish_ns or at_ns
        if piece.usage is not None:
            self.raw_usage = merge_usage(self.raw_usage, piece.usage)
