"""The length scan: what a prompt of each length costs, cold or with a reused prefix."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

from kvtop.api.client import ApiClient
from kvtop.api.prompts import PromptWriter
from kvtop.experiments.answer_length import choose_answer_tokens
from kvtop.experiments.asking import Asker
from kvtop.experiments.budget import Budget
from kvtop.experiments.calibrate import calibrate
from kvtop.experiments.cell_request import CellRequests
from kvtop.experiments.earlier import Earlier
from kvtop.experiments.log import ExperimentLog
from kvtop.experiments.model_listing import unlisted_text
from kvtop.experiments.outcome import Outcome
from kvtop.experiments.pace import Pace
from kvtop.experiments.patience import Sleep, ask_patiently
from kvtop.experiments.room import Room, can_fit
from kvtop.experiments.steady import SteadyWatch
from kvtop.experiments.unusable import NOT_SENT, UNUSABLE
from kvtop.model.failure import Failure, KvtopError
from kvtop.model.plan import DEFAULT_MAX_TOKENS, ScanCell, ScanPlan
from kvtop.model.record import RequestRecord

_MOST_UNUSABLE_IN_A_ROW = 3

Send = Callable[[ScanCell], Awaitable[RequestRecord]]


class LengthScan:
    """Carries out one `ScanPlan` on an endpoint, one request at a time, lengths ascending."""

    def __init__(
        self,
        plan: ScanPlan,
        client: ApiClient,
        log: ExperimentLog,
        *,
        steady: SteadyWatch | None = None,
        earlier: Earlier | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._plan = plan
        self._client = client
        self._log = log
        self._steady = steady
        self._earlier = earlier or Earlier()
        self._clock = clock
        self._sleep = sleep
        self._writer = PromptWriter(plan.seed)
        self._asker = Asker(
            client,
            log,
            Budget(plan.max_total_tokens, self._earlier.spent_tokens),
            temperature=plan.temperature,
            requests_sent=self._earlier.requests_sent,
            keep_bodies=plan.keep_bodies,
        )
        self._room = Room(plan.max_tokens or DEFAULT_MAX_TOKENS, client.endpoint.context_window)
        self._requests = CellRequests(self._asker, self._writer, self._room)
        self._ended_lengths = set(self._earlier.ended_lengths)
        self._unusable_in_a_row = 0

    async def run(self) -> Outcome:
        """Look at the endpoint, take the base, calibrate, measure every missing cell.

        The base comes before the first request: allocators like PyTorch's give nothing back.
        """
        refusal = await self._look_at_models()
        if refusal is not None:
            return Outcome("refused", refusal)
        self._skip_long_lengths(self._client.endpoint.context_window, "the profile's context_window")
        if self._steady is not None:
            await self._take_base(self._steady)
        outcome = await self._calibrate()
        return outcome or await self._measure()

    async def _look_at_models(self) -> Failure | None:
        """Learn the context. Only a server that cannot be reached ends the run: not every key may list."""
        listing = await self._client.models()
        if isinstance(listing, Failure):
            return listing if listing.code in NOT_SENT else None
        asked = self._client.endpoint.model
        unlisted = unlisted_text(asked, listing.ids)
        if unlisted is not None:
            self._log.note("model_not_listed", unlisted, model=asked)
        self._room.context_tokens = self._room.context_tokens or listing.context_of(asked)
        self._log.remember(owned_by=next((m.owned_by for m in listing.models if m.id == asked), None))
        return None

    async def _calibrate(self) -> Outcome | None:
        calibration = self._earlier.calibration
        if calibration is None:
            result = await calibrate(self._asker, self._writer, self._log, self._sleep)
            if isinstance(result, Outcome):
                return result
            calibration, failure = result
            if failure is not None:
                self._log.note(failure.code, str(failure))
        self._asker.lengths = calibration.length_model()
        self._room.answer_tokens = choose_answer_tokens(
            self._plan.max_tokens, calibration.decode_tok_s, memory_watched=self._steady is not None
        )
        self._log.remember(
            **calibration.to_json(),
            answer_tokens=self._room.answer_tokens,
            context_tokens=self._room.context_tokens,
        )
        self._skip_short_lengths()
        return None

    def _skip_long_lengths(self, limit_tokens: int | None, whose: str, *, beyond: int = 0) -> None:
        """Leave out, unsent, every length above a context that is known, and longer than `beyond`."""
        for length in self._plan.lengths:
            if length in self._ended_lengths or length <= beyond or can_fit(length, limit_tokens):
                continue
            self._ended_lengths.add(length)
            text = f"{length:,} tokens were not sent: {whose} is {limit_tokens:,} tokens."
            self._log.note("over_context", text, target_tokens=length, limit_tokens=limit_tokens)

    def _skip_short_lengths(self) -> None:
        for length in self._plan.lengths:
            if length in self._ended_lengths:
                continue
            try:
                self._asker.lengths.words_for(self._room.aim(length))
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
        pace = Pace()
        cells = self._plan.cells()
        for index, cell in enumerate(cells):
            if cell.id in self._earlier.finished_cells or cell.target_tokens in self._ended_lengths:
                continue
            if not self._requests.affordable(cell):
                return self._end_by_budget(cell)
            record = await self._measure_cell(cell)
            self._log.analyse()
            pace.add(cell, record)
            self._tell_progress(cells, index + 1, time.monotonic() - started_s, pace)
            if self._lost(record.failure):
                return Outcome("refused", record.failure)
        return Outcome("complete")

    def _end_by_budget(self, cell: ScanCell) -> Outcome:
        spent = self._asker.spent_tokens
        text = (
            f"{spent:,} of {self._plan.max_total_tokens:,} tokens are spent; {cell.id} does not fit any more."
        )
        self._log.note("budget_reached", text, spent_tokens=spent)
        return Outcome("budget")

    def _lost(self, failure: Failure | None) -> bool:
        unusable = failure is not None and failure.code in UNUSABLE
        self._unusable_in_a_row = self._unusable_in_a_row + 1 if unusable else 0
        return self._unusable_in_a_row >= _MOST_UNUSABLE_IN_A_ROW

    async def _measure_cell(self, cell: ScanCell) -> RequestRecord:
        """Measure `cell`, primed first where that is needed; return the last record."""
        if not self._requests.is_ready(cell):
            prime = await self._ask(cell, self._requests.prime)
            if prime.failure is not None:
                return prime
        return await self._ask(cell, self._requests.ask)

    async def _ask(self, cell: ScanCell, send: Send) -> RequestRecord:
        aimed = self._room.aim(cell.target_tokens)
        record = await self._ask_patiently(cell, send)
        failure = record.failure
        if failure is not None and failure.code == "context_length":
            self._room.context_tokens = failure.limit_tokens or self._room.context_tokens
            if self._room.aim(cell.target_tokens) < aimed:
                record = await self._ask_patiently(cell, send)
        self._learn(cell, record)
        return record

    async def _ask_patiently(self, cell: ScanCell, send: Send) -> RequestRecord:
        may_repeat = partial(self._requests.affordable, cell)
        return await ask_patiently(partial(send, cell), self._log, self._sleep, may_repeat=may_repeat)

    def _learn(self, cell: ScanCell, record: RequestRecord) -> None:
        if record.failure is not None and record.failure.code == "context_length":
            self._end_length(cell, record.failure)
        if record.measured and record.prompt_words:
            self._asker.lengths = self._asker.lengths.refined(record.prompt_words, record.prompt_tokens)

    def _end_length(self, cell: ScanCell, failure: Failure) -> None:
        self._ended_lengths.add(cell.target_tokens)
        limit = failure.limit_tokens
        said = f"the server's limit is {limit:,} tokens" if limit else "the server names no limit"
        answer = self._room.answer_tokens
        text = f"{cell.target_tokens:,} tokens and an answer of {answer:,} do not fit: {said}."
        self._log.note("over_context", text, target_tokens=cell.target_tokens, limit_tokens=limit)
        self._skip_long_lengths(limit, "the server's limit", beyond=cell.target_tokens)

    def _tell_progress(self, cells: tuple[ScanCell, ...], done: int, elapsed_s: float, pace: Pace) -> None:
        finished = self._earlier.finished_cells
        left = [
            c for c in cells[done:] if c.target_tokens not in self._ended_lengths and c.id not in finished
        ]
        left_s = pace.left_s(elapsed_s, left)
        self._log.progress(done, len(cells), elapsed_s, left_s, self._asker.spent_tokens)
