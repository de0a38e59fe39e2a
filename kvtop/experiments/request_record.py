"""From an exchange with the endpoint to the record kept of it."""

from __future__ import annotations

from dataclasses import dataclass

from kvtop.api.exchange import Exchange
from kvtop.model.endpoint import Endpoint
from kvtop.model.record import RequestRecord
from kvtop.model.usage import Usage


@dataclass(frozen=True, slots=True)
class Label:
    """What a request was sent for."""

    cell: str
    tag: str
    max_tokens: int
    id: str = ""
    prefix: str | None = None
    repeat: int | None = None
    target_tokens: int | None = None
    prompt_words: int | None = None
    shared_words: int | None = None
    """Leading words that an earlier request of this session has sent; None for a cold prompt."""


def record_of(label: Label, exchange: Exchange, endpoint: Endpoint) -> RequestRecord:
    """Return the record of one finished exchange. Counts come from the server's usage alone."""
    usage = exchange.usage or Usage()
    return RequestRecord(
        id=label.id,
        cell=label.cell,
        tag=label.tag,
        ts=exchange.sent_ts,
        end_ts=exchange.end_ts,
        dialect=endpoint.dialect,
        model=endpoint.model,
        repeat=label.repeat,
        prefix=label.prefix,
        target_tokens=label.target_tokens,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        usage_source=usage.source,
        connect_s=exchange.connect_s,
        headers_s=exchange.headers_s,
        first_event_s=exchange.first_event_s,
        ttft_s=exchange.ttft_s,
        ttft_answer_s=exchange.ttft_answer_s,
        last_token_s=exchange.last_token_s,
        latency_s=exchange.latency_s,
        decode_tok_s=exchange.decode_tok_s,
        e2e_tok_s=exchange.e2e_tok_s,
        finish_reason=exchange.finish_reason,
        status=exchange.status,
        failure=exchange.failure,
        retry_after_s=exchange.failure.retry_after_s if exchange.failure else None,
        prompt_words=label.prompt_words,
        max_tokens=label.max_tokens,
        text_events=exchange.text_events,
        usage_raw=usage.raw,
        headers=exchange.headers,
        notes=exchange.notes + usage.flags,
    )
