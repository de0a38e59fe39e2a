"""Sending the request of one cell: cold, or with a prefix that the server has read before."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kvtop.api.prompts import PromptWriter, shared_words
from kvtop.experiments.asking import Asker
from kvtop.experiments.request_record import Label
from kvtop.experiments.room import Room
from kvtop.model.plan import ScanCell
from kvtop.model.record import RequestRecord


@dataclass(frozen=True, slots=True)
class _Primed:
    """The last prompt that the server has read whole."""

    target_tokens: int
    repeat: int
    ordinal: int
    words: int


class CellRequests:
    """Asks for cells. A `reused` request repeats a prompt sent before in this session, with another tail."""

    def __init__(self, asker: Asker, writer: PromptWriter, room: Room) -> None:
        self._asker = asker
        self._writer = writer
        self._room = room
        self._primed: _Primed | None = None

    def affordable(self, cell: ScanCell) -> bool:
        """Whether the budget allows the request, together with the one that primes it where it needs one."""
        prompts = 1 if self.is_ready(cell) else 2
        return self._asker.can_pay(cell.target_tokens * prompts, self._room.answer_tokens * prompts)

    def is_ready(self, cell: ScanCell) -> bool:
        """Whether the cell can be asked at once: it is cold, or the server has just read its prefix."""
        return cell.prefix == "cold" or self._primed_for(cell) is not None

    async def prime(self, cell: ScanCell) -> RequestRecord:
        """Let the server read the prefix of a `reused` cell, with the shortest answer."""
        return await self._send_whole(cell, "prime", 1)

    async def ask(self, cell: ScanCell) -> RequestRecord:
        """Send the measured request of a cell that is ready."""
        primed = None if cell.prefix == "cold" else self._primed_for(cell)
        if primed is None:
            return await self._send_whole(cell, "cold", self._room.answer_tokens)
        prompt = self._writer.reused(primed.ordinal, primed.words, variant=self._asker.next_number())
        label = self._label(cell, primed.words, "reused", self._room.answer_tokens)
        return await self._asker.ask(replace(label, shared_words=shared_words(primed.words)), prompt)

    async def _send_whole(self, cell: ScanCell, tag: str, answer_tokens: int) -> RequestRecord:
        words = self._asker.lengths.words_for(self._room.aim(cell.target_tokens))
        number = self._asker.next_number()
        label = self._label(cell, words, tag, answer_tokens)
        record = await self._asker.ask(label, self._writer.cold(number, words))
        if record.measured:
            self._primed = _Primed(cell.target_tokens, cell.repeat, number, words)
        return record

    def _primed_for(self, cell: ScanCell) -> _Primed | None:
        primed = self._primed
        if primed is None or (primed.target_tokens, primed.repeat) != (cell.target_tokens, cell.repeat):
            return None
        return primed

    def _label(self, cell: ScanCell, words: int, tag: str, max_tokens: int) -> Label:
        return Label(
            cell.id,
            tag,
            max_tokens,
            prefix=cell.prefix,
            repeat=cell.repeat,
            target_tokens=cell.target_tokens,
            prompt_words=words,
        )
