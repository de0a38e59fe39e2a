"""Sending one request of an experiment: announced before, recorded after, counted in the budget."""

from __future__ import annotations

from dataclasses import replace

from kvtop.api.calibration import LengthModel
from kvtop.api.client import ApiClient
from kvtop.api.exchange import ChatRequest, Message
from kvtop.api.token_count import count_prompt_tokens
from kvtop.experiments.budget import Budget, cost_tokens
from kvtop.experiments.log import ExperimentLog
from kvtop.experiments.request_record import Label, record_of
from kvtop.model.endpoint import Endpoint
from kvtop.model.record import RequestRecord


class Asker:
    """Numbers, sends, records and pays for requests.

    The number of a request is announced before it is sent and never given twice, not even by a resumed
    run. Prompts take it as their ordinal, so no two share a prefix by accident.
    """

    def __init__(
        self,
        client: ApiClient,
        log: ExperimentLog,
        budget: Budget,
        *,
        temperature: float,
        requests_sent: int = 0,
        keep_bodies: bool = False,
    ) -> None:
        self._client = client
        self._log = log
        self._temperature = temperature
        self._budget = budget
        self._sent = requests_sent
        self._keep_bodies = keep_bodies
        self.lengths = LengthModel.assumed()

    @property
    def endpoint(self) -> Endpoint:
        """Where the requests go."""
        return self._client.endpoint

    @property
    def spent_tokens(self) -> int:
        """Tokens spent by this run so far, earlier sessions included."""
        return self._budget.spent_tokens

    def next_number(self) -> int:
        """Return the number that the next request will have."""
        return self._sent + 1

    def can_pay(self, prompt_tokens: float, completion_tokens: int) -> bool:
        """Whether the budget allows a request of at most this size."""
        return self._budget.allows(prompt_tokens, completion_tokens)

    async def ask(self, label: Label, prompt: str) -> RequestRecord:
        """Send `prompt` and return its record, which is on disk by then. Failures are in the record."""
        self._sent += 1
        request_id = f"{self._sent:05d}"
        at_most_tokens = round(self.lengths.tokens_for(label.prompt_words or 0)) + label.max_tokens
        self._log.cell(
            label.cell,
            request=request_id,
            tag=label.tag,
            target_tokens=label.target_tokens,
            prefix=label.prefix,
            repeat=label.repeat,
            at_most_tokens=at_most_tokens,
        )
        request = ChatRequest((Message("user", prompt),), label.max_tokens, self._temperature)
        exchange = await self._client.chat(request)
        record = record_of(replace(label, id=request_id), exchange, self.endpoint)
        record = replace(record, shared_prefix_tokens=self._shared_tokens(label, record))
        if self._keep_bodies:
            record = replace(
                record, body={"messages": [{"role": "user", "content": prompt}]}, answer_text=exchange.text
            )
        self._log.request(record)
        self._budget.spend(cost_tokens(record, at_most_tokens))
        return record

    async def count(self, prompt: str) -> int | None:
        """Return what the server's own tokenizer makes of `prompt`, None where it has none to ask."""
        return await count_prompt_tokens(self._client, self.endpoint.model, prompt)

    def _shared_tokens(self, label: Label, record: RequestRecord) -> int | None:
        if label.shared_words is None or record.prompt_tokens is None or label.prompt_words is None:
            return None
        changed_words = label.prompt_words - label.shared_words
        changed = changed_words * self.lengths.tokens_per_word + self.lengths.template_tokens
        return max(round(record.prompt_tokens - changed), 0)
