"""From finished attempts to the exchange that is kept."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kvtop.api.exchange import Exchange
from kvtop.api.kept_headers import kept_headers
from kvtop.api.usage import normalise_usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtop.api.attempt import Attempt
    from kvtop.api.peer import Peer
    from kvtop.model.failure import Failure


def exchange_of(attempts: Sequence[Attempt], peer: Peer, notes: tuple[str, ...]) -> Exchange:
    """Return the exchange that the last of `attempts` is, with what the earlier ones leave to note."""
    last = attempts[-1]
    answer, clock = last.answer, last.clock
    end_ns = time.perf_counter_ns() if answer.end_ns is None else answer.end_ns
    return Exchange(
        sent_ts=clock.begun_ts if clock.sent_ts is None else clock.sent_ts,
        end_ts=clock.wall_ts(end_ns),
        connect_s=clock.connect_s,
        headers_s=clock.since_sent(clock.headers_ns),
        first_event_s=clock.since_sent(answer.first_event_ns),
        ttft_s=clock.since_sent(answer.first_text_ns),
        ttft_answer_s=clock.since_sent(answer.first_answer_ns),
        last_token_s=clock.since_sent(answer.last_text_ns),
        latency_s=clock.since_sent(answer.end_ns),
        text_events=answer.text_events,
        text=peer.redact(answer.text),
        usage=None if answer.raw_usage is None else normalise_usage(answer.raw_usage, peer.clean),
        finish_reason=None if answer.finish_reason is None else peer.clean(answer.finish_reason, 80),
        status=last.status,
        failure=last.failure,
        headers=kept_headers(last.headers.items(), peer),
        notes=notes + _notes(attempts),
        attempts=len(attempts),
    )


def not_sent(failure: Failure) -> Exchange:
    """Return the exchange of a request that could not even be written."""
    now_ts = time.time()
    return Exchange(now_ts, now_ts, failure=failure, attempts=0)


def _notes(attempts: Sequence[Attempt]) -> tuple[str, ...]:
    last = attempts[-1]
    retried = ("retried_stale_connection",) if any(attempt.is_stale for attempt in attempts[:-1]) else ()
    return retried + last.notes + (last.answer.notes if last.failure is None else ())
