"""The archive as a table."""

from __future__ import annotations

from collections.abc import Sequence

from kvtop.model.quantity import UNKNOWN, format_seconds
from kvtop.runs.archive import RunSummary

_COLUMNS = ("run", "state", "took", "sent", "failed", "profile")


def run_table(summaries: Sequence[RunSummary]) -> str:
    """Return one line a run as given; unreadable folders say why. Ids begin with the UTC time."""
    rows = [_COLUMNS, *(_row(summary) for summary in summaries)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def _row(summary: RunSummary) -> tuple[str, ...]:
    if summary.problem is not None:
        return (summary.id, "unreadable", UNKNOWN, UNKNOWN, UNKNOWN, summary.problem)
    took_s = None
    if summary.ended_ts is not None and summary.created_ts is not None:
        took_s = summary.ended_ts - summary.created_ts
    origin = "SIMULATED" if summary.simulated else summary.profile or UNKNOWN
    took, sent, failed = format_seconds(took_s), _count(summary.requests), _count(summary.failed)
    return (summary.id, summary.state, took, sent, failed, origin)


def _count(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"
