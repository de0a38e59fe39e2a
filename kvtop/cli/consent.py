"""Saying what a run will cost, and asking before tokens are spent."""

from __future__ import annotations

import sys

from kvtop.cli.streams import is_tty, say
from kvtop.model.estimate import Estimate
from kvtop.model.failure import Failure, KvtopError


def describe(estimate: Estimate) -> str:
    """Return one line: requests, tokens, cost."""
    tokens = f"at most {estimate.prompt_tokens:,} prompt and {estimate.completion_tokens:,} completion tokens"
    requests = "1 request" if estimate.requests == 1 else f"{estimate.requests:,} requests"
    if estimate.cost is None:
        return f"{requests}, {tokens}"
    return f"{requests}, {tokens}, about {estimate.currency} {estimate.cost:,.2f}"


def ask_before_spending(estimate: Estimate, *, costs: bool, agreed: bool) -> None:
    """Tell the estimate; where it costs money or quota, ask unless `agreed`.

    Raises KvtopError `not_confirmed` on a no, or where nobody can be asked.
    """
    say(f"This run sends {describe(estimate)}.")
    if not costs or agreed:
        return
    if not is_tty(sys.stdin):
        text = "This run spends tokens of a remote provider, and nobody can be asked here."
        raise KvtopError(
            Failure("not_confirmed", text, "Add --yes, and --max-total-tokens N for a hard bound.")
        )
    sys.stderr.write("Go on? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise KvtopError(Failure("not_confirmed", "Nothing was sent."))
