"""The length scan: what a prompt of each length costs, cold or with a reused prefix."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from kvtop.api.client import ApiClient
from kvtop.api.prompts import PromptWriter, shared_words
from kvtop.experiments.answer_length import choose_answer_tokens
from kvtop.experiments.asking import Asker
from kvtop.experiments.budget import Budget
from kvtop.experiments.calibrate import Calibration, calibrate
from kvtop.experiments.log import ExperimentLog
from kvtop.experiments.outcome import Outcome
from kvtop.experiments.request_record import Label
from kvtop.experiments.steady import SteadyWatch
from kvtop.model.failure import Failure, KvtopError
from kvtop.model.plan import DEFAULT_MAX_TOKENS, ScanCell, ScanPlan
from kvtop.model.record import RequestRecord

UNUSABLE = frozenset({"auth", "quota", "refused", "dns", "tls", "bad_url", "redirected"})
"""Failures that no further request will change."""
WORTH_WAITING = frozenset({"rate_limited", "overloaded"})
"""Failures after which the same cell is asked again, outside any measured time."""

_MOST_UNUSABLE_IN_A_ROW = 3
_MOST_TRIES = 3
_DEFAULT_WAIT_S = 5.0
_LONGEST_WAIT_S = 60.0
_SHORTENING = 0.01
"""A target may give up this share of its length to leave room for the answer in the context."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """What earlier sessions of the same run left behind."""

    finished_cells: Collection[str] = ()
    """Cells that need no further request."""
    ended_lengths: Collection[int] = ()
    """Lengths that the server has refused as too long."""
    requests_sent: int = 0
    spent_tokens: int = 0
    calibration: Calibration | None = None


@dataclass(frozen=True, slots=True)
class _Primed:
    """The last prompt that the server has read whole."""

    target_tokens: int
    repeat: int
    ordinal: int
    words: int


class LengthScan:
    """Carries out one `ScanPlan` on an endpoint, one request at a time, lengths ascending.

    A `reused` request repeats the words of a prompt sent earlier in this session and changes its tail.
    """

    def __init__(
        self,
        plan: ScanPlan,
        client: ApiClient,
        log: ExperimentLog,
        *,
        steady: SteadyWatch | None = None,
        earlier: Earlier | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._plan = plan
        self._client = client
        self._log = log
        self._steady = steady
        self._earlier = earlier or Earlier()
        self._clock = clock
        self._writer = PromptWriter(plan.seed)
        budget = Budget(plan.max_total_tokens, self._earlier.spent_tokens)
        self._asker = Asker(
            client,
            log,
            budget,
            temperature=plan.temperature,
            requests_sent=self._earlier.requests_sent,
            keep_bodies=plan.keep_bodies,
        )
        self._context_tokens = client.endpoint.context_window
        self._ended_lengths = set(self._earlier.ended_lengths)
        self._answer_tokens = plan.max_tokens or DEFAULT_MAX_TOKENS
        self._primed: _Primed | None = None
        self._unusable_in_a_row = 0

    async def run(self) -> Outcome:
        """Look at the endpoint, calibrate, take the base, measure every missing cell."""
        refusal = await self._look_at_models()
        if refusal is not None:
            return Outcome("refused", refusal)
        outcome = await self._calibrate()
        if outcome is not None:
            return outcome
        if self._steady is not None:
            await self._take_base(self._steady)
        return await self._measure()

    async def _look_at_models(self) -> Failure | None:
        listing = await self._client.models()
        if isinstance(listing, Failure):
            return listing if listing.code in UNUSABLE else None
        told = listing.context_of(self._client.endpoint.model)
        self._context_tokens = self._context_tokens or told
        return None

    async def _calibrate(self) -> Outcome | None:
        calibration = self._earlier.calibration
        if calibration is None:
            result = await calibrate(self._asker, self._writer)
            if isinstance(result, Outcome):
                return result
            calibration, failure = result
            if failure is not None:
                self._log.note(failure.code, str(failure))
        self._asker.lengths = calibration.length_model()
        self._answer_tokens = choose_answer_tokens(
            self._plan.max_tokens, calibration.decode_tok_s, memory_watched=self._steady is not None
        )
        self._log.remember(
            **calibration.to_json(), answer_tokens=self._answer_tokens, context_tokens=self._context_tokens
        )
        self._skip_short_lengths()
        return None

    def _skip_short_lengths(self) -> None:
        for length in self._plan.lengths:
            try:
                self._asker.lengths.words_for(length)
            except KvtopError as error:
                self._ended_lengths.add(length)
                self._log.note(error.failure.code, str(error.failure), target_tokens=length)

    async def _take_base(self, steady: SteadyWatch) -> None:
        base = await steady.wait(self._clock)
        if base is None:
            self._log.note("memory_not_watched", "No memory is being sampled on this host.")
            return
        text = (
            "Memory stands still: the base."
            if base.steady
            else "Memory still moves: its last second is the base."
        )
        self._log.note("base", text, from_ts=base.from_ts, to_ts=base.to_ts, steady=base.steady)

    async def _measure(self) -> Outcome:
        started_s = time.monotonic()
        cells = self._plan.cells()
        for index, cell in enumerate(cells):
            if cell.id in self._earlier.finished_cells or cell.target_tokens in self._ended_lengths:
                continue
            if not self._affordable(cell):
                return self._end_by_budget(cell)
            record = await self._measure_patiently(cell)
            self._log.analyse()
            self._tell_progress(cells, index + 1, time.monotonic() - started_s)
            if record.failure is not None and self._lost(record.failure):
                return Outcome("refused", record.failure)
        return Outcome("complete")

    def _affordable(self, cell: ScanCell) -> bool:
        prompts = 2 if cell.prefix == "reused" and self._primed_for(cell) is None else 1
        return self._asker.can_pay(cell.target_tokens * prompts, self._answer_tokens * prompts)

    def _end_by_budget(self, cell: ScanCell) -> Outcome:
        spent = self._asker.spent_tokens
        text = (
            f"{spent:,} of {self._plan.max_total_tokens:,} tokens are spent; {cell.id} does not fit any more."
        )
        self._log.note("budget_reached", text, spent_tokens=spent)
        return Outcome("budget")

    def _lost(self, failure: Failure) -> bool:
        self._unusable_in_a_row = self._unusable_in_a_row + 1 if failure.code in UNUSABLE else 0
        return self._unusable_in_a_row >= _MOST_UNUSABLE_IN_A_ROW

    async def _measure_patiently(self, cell: ScanCell) -> RequestRecord:
        record = await self._measure_once(cell)
        for _ in range(_MOST_TRIES - 1):
            failure = record.failure
            if failure is None or failure.code not in WORTH_WAITING or not self._affordable(cell):
                return record
            wait_s = min(failure.retry_after_s or _DEFAULT_WAIT_S, _LONGEST_WAIT_S)
            self._log.note("waiting", f"{failure.text} Trying again in {wait_s:.0f} s.", wait_s=wait_s)
            await asyncio.sleep(wait_s)
            record = await self._measure_once(cell)
        return record

    async def _measure_once(self, cell: ScanCell) -> RequestRecord:
        record = await (self._ask_cold(cell) if cell.prefix == "cold" else self._ask_reused(cell))
        if record.tag != "prime":
            self._learn(cell, record)
        return record

    async def _ask_cold(
        self, cell: ScanCell, tag: str = "cold", answer_tokens: int | None = None
    ) -> RequestRecord:
        words = self._asker.lengths.words_for(self._fitted(cell.target_tokens))
        number = self._asker.next_number()
        label = self._label(cell, words, tag=tag, max_tokens=answer_tokens or self._answer_tokens)
        record = await self._asker.ask(label, self._writer.cold(number, words))
        if record.measured:
            self._primed = _Primed(cell.target_tokens, cell.repeat, number, words)
        return record

    async def _ask_reused(self, cell: ScanCell) -> RequestRecord:
        primed = self._primed_for(cell)
        if primed is None:
            record = await self._ask_cold(cell, tag="prime", answer_tokens=1)
            self._learn(cell, record)
            primed = self._primed_for(cell)
            if primed is None:
                return record
        prompt = self._writer.reused(primed.ordinal, primed.words, variant=self._asker.next_number())
        label = self._label(cell, primed.words, tag="reused", max_tokens=self._answer_tokens)
        return await self._asker.ask(replace(label, shared_words=shared_words(primed.words)), prompt)

    def _primed_for(self, cell: ScanCell) -> _Primed | None:
        primed = self._primed
        if primed is None or (primed.target_tokens, primed.repeat) != (cell.target_tokens, cell.repeat):
            return None
        return primed

    def _label(self, cell: ScanCell, words: int, *, tag: str, max_tokens: int) -> Label:
        return Label(
            cell.id,
            tag,
            max_tokens,
            prefix=cell.prefix,
            repeat=cell.repeat,
            target_tokens=cell.target_tokens,
            prompt_words=words,
        )

    def _fitted(self, target_tokens: int) -> int:
        """Leave room for the answer where the wanted length is the whole context."""
        if self._context_tokens is None:
            return target_tokens
        room = self._context_tokens - self._answer_tokens - 1
        missing = target_tokens - room
        return room if 0 < missing <= target_tokens * _SHORTENING else target_tokens

    def _learn(self, cell: ScanCell, record: RequestRecord) -> None:
        if record.failure is not None and record.failure.code == "context_length":
            self._end_length(cell, record.failure)
        if record.measured and record.prompt_tokens is not None and record.prompt_words:
            self._asker.lengths = self._asker.lengths.refined(record.prompt_words, record.prompt_tokens)

    def _end_length(self, cell: ScanCell, failure: Failure) -> None:
        self._ended_lengths.add(cell.target_tokens)
        limit = failure.limit_tokens
        self._context_tokens = limit or self._context_tokens
        said = f"the server's limit is {limit:,} tokens" if limit else "the server names no limit"
        text = f"{cell.target_tokens:,} tokens and an answer of {self._answer_tokens:,} do not fit: {said}."
        self._log.note("over_context", text, target_tokens=cell.target_tokens, limit_tokens=limit)

    def _tell_progress(self, cells: tuple[ScanCell, ...], done: int, elapsed_s: float) -> None:
        ended = self._ended_lengths
        done_tokens = sum(c.target_tokens for c in cells[:done] if c.id not in self._earlier.finished_cells)
        left_tokens = sum(c.target_tokens for c in cells[done:] if c.target_tokens not in ended)
        left_s = elapsed_s * left_tokens / done_tokens if done_tokens else None
        self._log.progress(done, len(cells), elapsed_s, left_s, self._asker.spent_tokens)
