"""What a plan is checked for before a run folder is made and anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kvtop.cli.streams import say
from kvtop.experiments.budget import least_budget
from kvtop.experiments.room import can_fit
from kvtop.model.endpoint import Endpoint
from kvtop.model.failure import Failure, KvtopError
from kvtop.model.plan import ScanCell, ScanPlan
from kvtop.model.quantity import MIB, format_tokens

MOST_CELLS = 10_000
"""Measured requests of one run."""

LONGEST_PROMPT = 16 * MIB
"""Tokens; such a prompt is some 100 MB of text, and no model reads that much."""


def refuse_boundless(plan: ScanPlan) -> None:
    """Raise KvtopError `too_many_requests` or `length_too_long` for more than a run may have."""
    cells = len(plan.lengths) * plan.repeats * len(plan.prefixes)
    if cells > MOST_CELLS:
        text = f"The plan has {cells:,} requests; a run has at most {MOST_CELLS:,}."
        raise KvtopError(Failure("too_many_requests", text, "Take fewer --lengths or fewer --repeats."))
    if max(plan.lengths) > LONGEST_PROMPT:
        text = f"No prompt is longer than {format_tokens(LONGEST_PROMPT)} tokens."
        raise KvtopError(Failure("length_too_long", text, "Choose shorter --lengths, such as 4k,128k or 1m."))


def what_fits(plan: ScanPlan, endpoint: Endpoint) -> ScanPlan:
    """Return the plan without lengths above the profile's context_window, which are told.

    Raises KvtopError `nothing_fits` where no length is left.
    """
    window = endpoint.context_window
    fitting = tuple(length for length in plan.lengths if can_fit(length, window))
    if window is None or len(fitting) == len(plan.lengths):
        return plan
    if not fitting:
        text = f"No length fits into the profile's context_window of {window:,} tokens."
        raise KvtopError(Failure("nothing_fits", text, "Choose shorter --lengths, or correct the profile."))
    left_out = [length for length in plan.lengths if length not in fitting]
    are = "are" if len(left_out) > 1 else "is"
    say(f"{listed(left_out)} {are} not sent: the profile's context_window is {window:,} tokens.")
    return replace(plan, lengths=fitting)


def refuse_small_budget(plan: ScanPlan, cell: ScanCell, *, calibrated: bool, spent_tokens: int = 0) -> None:
    """Raise KvtopError `budget_too_small` where not even `cell`, the first one, can be paid."""
    budget = plan.max_total_tokens
    least = spent_tokens + least_budget(cell, plan.max_tokens, calibrated=calibrated)
    if budget is None or budget >= least:
        return
    needs = f"{cell.target_tokens:,} tokens and its answer"
    before = f"the {spent_tokens:,} already spent" if spent_tokens else ""
    before = " and ".join(filter(None, (before, "" if calibrated else "the calibration")))
    with_these = f" together with {before}" if before else ""
    text = f"A budget of {budget:,} tokens is too small: a first prompt of {needs} needs"
    text = f"{text}{with_these} at least {least:,}."
    raise KvtopError(
        Failure("budget_too_small", text, "Raise --max-total-tokens or choose shorter --lengths.")
    )


def listed(lengths: Sequence[int]) -> str:
    """Return lengths as a sentence has them: `8k, 16k and 32k tokens`."""
    names = [format_tokens(length) for length in lengths]
    joined = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f"{joined} tokens"
