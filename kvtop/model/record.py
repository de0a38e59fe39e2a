"""One finished request, as kept in a run folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from kvtop.model.failure import Failure


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """Everything kept about one request. None means not reported or not measured.

    Times are Unix seconds (`*_ts`) or durations in seconds (`*_s`) from the sending of the request.
    """

    id: str
    cell: str
    """The cell of the plan it belongs to, e.g. `4096/cold/2`; empty for calibration."""
    tag: str
    """`calibrate`, `prime`, `cold`, `reused`."""
    ts: float
    end_ts: float
    dialect: str
    model: str
    level: int | None = None
    setting: str | None = None
    repeat: int | None = None
    prefix: str | None = None
    """`cold` or `reused`."""
    scheduled_ts: float | None = None
    target_tokens: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    usage_source: str | None = None
    connect_s: float | None = None
    """TCP and TLS set-up; None on a kept connection."""
    headers_s: float | None = None
    first_event_s: float | None = None
    """First event of the stream, whatever it held."""
    ttft_s: float | None = None
    """First generated text (content, reasoning or tool call) minus request sent."""
    ttft_answer_s: float | None = None
    """First visible answer text minus request sent."""
    last_token_s: float | None = None
    latency_s: float | None = None
    decode_tok_s: float | None = None
    """(completion tokens - 1) / (last token - first token)."""
    e2e_tok_s: float | None = None
    """completion tokens / latency."""
    finish_reason: str | None = None
    status: int | None = None
    failure: Failure | None = None
    retry_after_s: float | None = None
    prompt_words: int | None = None
    shared_prefix_tokens: int | None = None
    """Tokens of this prompt known to be sent before, for a reused prefix; None for cold ones."""
    max_tokens: int | None = None
    text_events: int | None = None
    """Stream events that carried generated text."""
    usage_raw: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    """The request as sent, without its key; only with --keep-bodies."""
    answer_text: str | None = None
    """The beginning of the answer; only with --keep-bodies."""
    notes: tuple[str, ...] = ()
    """Doubts and retries, e.g. `include_usage_refused`, `cached_exceeds_prompt`."""

    @property
    def measured(self) -> bool:
        """Whether its times and counts may enter a median."""
        return self.failure is None

    def to_json(self) -> dict[str, Any]:
        """Return the record as a JSON object, None fields left out."""
        document: dict[str, Any] = {}
        for name in self.__slots__:
            value = getattr(self, name)
            if value is None or value == () or value == {}:
                continue
            document[name] = value.to_json() if isinstance(value, Failure) else value
        return document

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a record from `to_json`. Raises KeyError or TypeError when required keys are missing."""
        known = {name: data[name] for name in cls.__slots__ if name in data}
        failure = known.get("failure")
        record = cls(**{**known, "failure": None})
        if isinstance(failure, Mapping):
            record = replace(record, failure=Failure.from_json(dict(failure)))
        return replace(record, notes=tuple(record.notes))
