"""The archive as a table."""

from __future__ import annotations

import time
from collections.abc import Sequence

from kvtop.model.quantity import UNKNOWN, format_seconds
from kvtop.runs.archive import RunSummary

_COLUMNS = ("run", "state", "started", "took", "requests", "failed", "profile")


def run_table(summaries: Sequence[RunSummary]) -> str:
    """Return one line a run, newest first as given; unreadable folders say why."""
    rows = [_COLUMNS, *(_row(summary) for summary in summaries)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def _row(summary: RunSummary) -> tuple[str, ...]:
    if summary.problem is not None:
        return (summary.id, "unreadable", UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, summary.problem)
    started = UNKNOWN
    if summary.created_ts is not None:
        started = time.strftime("%Y-%m-%d %H:%M", time.localtime(summary.created_ts))
    took_s = None
    if summary.ended_ts is not None and summary.created_ts is not None:
        took_s = summary.ended_ts - summary.created_ts
    profile = "SIMULATED" if summary.simulated else summary.profile or UNKNOWN
    requests, failed = str(summary.requests), str(summary.failed)
    return (summary.id, summary.state, started, format_seconds(took_s), requests, failed, profile)
