"""The archive as a table."""

from __future__ import annotations

from collections.abc import Sequence

from kvtop.cli.run_times import took_s
from kvtop.cli.wrapping import wrapped
from kvtop.model.quantity import UNKNOWN
from kvtop.runs.archive import RunSummary
from kvtop.runs.layout import RunFolder

_COLUMNS = ("run", "state", "took", "sent", "fail", "profile")
_WIDTH = 80


def run_table(summaries: Sequence[RunSummary]) -> str:
    """Return one line a run as given; unreadable folders say why below. Ids begin with the UTC time."""
    rows = [_COLUMNS, *(_row(summary) for summary in summaries)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    told = [lines[0]]
    for summary, line in zip(summaries, lines[1:], strict=True):
        told.append(line)
        if summary.problem is not None:
            told += wrapped(summary.problem, _WIDTH, first="  ", rest="  ")
    return "\n".join(told)


def _row(summary: RunSummary) -> tuple[str, ...]:
    took = _short_time(took_s(RunFolder(summary.path)))
    sent, failed = _count(summary.requests), _count(summary.failed)
    if summary.problem is not None:
        return (summary.id, "unreadable", took, sent, failed, UNKNOWN)
    origin = "SIMULATED" if summary.simulated else summary.profile or UNKNOWN
    return (summary.id, summary.state, took, sent, failed, origin)


def _short_time(seconds: float | None) -> str:
    """Return a time in at most seven characters: `9.3 s`, `42 s`, `3m05s`, `2h07m`."""
    if seconds is None:
        return UNKNOWN
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s"


def _count(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"
