"""Waiting for a server that has no room just now, outside any measured time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kvtop.experiments.log import ExperimentLog
from kvtop.model.failure import Failure
from kvtop.model.record import RequestRecord

WORTH_WAITING = frozenset({"rate_limited", "overloaded"})
"""Failures after which the same is asked again."""

DEFAULT_WAIT_S = 5.0
"""Where the server does not say how long to wait."""
LONGEST_WAIT_S = 60.0
_SHORTEST_WAIT_S = 0.5
_MOST_TRIES = 3

Sleep = Callable[[float], Awaitable[None]]


async def ask_patiently(
    ask: Callable[[], Awaitable[RequestRecord]],
    log: ExperimentLog,
    sleep: Sleep,
    *,
    may_repeat: Callable[[], bool],
) -> RequestRecord:
    """Ask until there is an answer that waiting would not change, at most three times.

    Each refused request keeps its own record. `may_repeat` says whether the budget allows another one.
    """
    record = await ask()
    for _ in range(_MOST_TRIES - 1):
        failure = record.failure
        if failure is None or failure.code not in WORTH_WAITING or not may_repeat():
            break
        wait_s = _wait_s(failure)
        log.note("waiting", f"{failure.text} Trying again in {wait_s:g} s.", wait_s=wait_s)
        await sleep(wait_s)
        record = await ask()
    return record


def _wait_s(failure: Failure) -> float:
    if failure.retry_after_s is None:
        return DEFAULT_WAIT_S
    return min(max(failure.retry_after_s, _SHORTEST_WAIT_S), LONGEST_WAIT_S)
