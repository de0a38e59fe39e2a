"""The lines of the scan dialog that say what will be sent, what it costs and how long it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from kvtop.model.quantity import format_seconds
from kvtop.ui.drawing.glyphs import Glyph

if TYPE_CHECKING:
    from kvtop.model.estimate import Estimate
    from kvtop.ui.drawing.glyphs import Glyphs
    from kvtop.ui.profile_choices import ProfileChoice
    from kvtop.ui.scan_form import Checked
    from kvtop.ui.scan_time import Pace

_LABEL = 10
_NAME = 20
_LONGEST = 120


def choice_row(choice: ProfileChoice, glyphs: Glyphs) -> Content:
    """Return one profile of the list: its name, where it comes from, where it leads or what is wrong."""
    head = f"{choice.name[:_LONGEST]:<{_NAME}} {'shipped' if choice.shipped else 'yours':<8} "
    if choice.problem is not None:
        told = f"{glyphs[Glyph.WARNING]} {glyphs.shown(choice.problem.text)}"
        return Content.assemble(head, (told[:_LONGEST], "$text-warning"))
    if choice.profile is None:
        return Content(head)
    told = f"{choice.profile.model} {glyphs[Glyph.SEPARATOR]} {choice.profile.base_url}"
    return Content.assemble(head, (told[:_LONGEST], "$muted"))


def answer_hint(max_tokens: int | None) -> str:
    """Return what stands in the empty field of the answer's length."""
    return "chosen by the scan" if max_tokens is None else f"{max_tokens} (settings)"


def summary_lines(checked: Checked, pace: Pace | None, glyphs: Glyphs) -> Content:
    """Return what the request comes to; a dash for each where there is none yet."""
    unknown = glyphs[Glyph.UNKNOWN]
    estimate, request = checked.estimate, checked.request
    if estimate is None or request is None:
        return _lines((("Sends", unknown), ("Costs", unknown), ("Takes", unknown)))
    return _lines(
        (
            ("Sends", sent(estimate, request.max_total_tokens)),
            ("Costs", cost(checked, estimate)),
            ("Takes", glyphs.shown(_time(checked, pace))),
        )
    )


def sent(estimate: Estimate, budget: int | None) -> str:
    """Return requests and tokens; these are upper bounds."""
    text = (
        f"{estimate.requests:,} requests, at most {estimate.prompt_tokens:,} prompt "
        f"and {estimate.completion_tokens:,} completion tokens"
    )
    if budget is not None and budget < estimate.total_tokens:
        text += f"; the budget ends it at {budget:,} tokens"
    return text


def cost(checked: Checked, estimate: Estimate) -> str:
    """Return the price at the profile's rates, or why there is none."""
    if estimate.cost is not None:
        return f"about {estimate.currency} {estimate.cost:,.2f} at the profile's price"
    if checked.request is not None and checked.request.demo is not None:
        return "nothing: the simulator answers"
    return (
        "no tokens of a provider: the engine is on this host"
        if checked.local
        else "unknown: no price is given"
    )


def _time(checked: Checked, pace: Pace | None) -> str:
    if pace is None or checked.request is None:
        return "unknown: no earlier run on this endpoint"
    return f"about {format_seconds(pace.seconds(checked.request.plan()))}, as fast as {pace.run_id}"


def _lines(rows: tuple[tuple[str, str], ...]) -> Content:
    return Content("\n").join(Content.assemble((f"{name:<{_LABEL}}", "$muted"), text) for name, text in rows)
