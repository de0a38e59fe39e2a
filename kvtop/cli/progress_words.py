"""How far a run is, in the words of one line."""

from __future__ import annotations

from typing import Any

from kvtop.model.event import Event
from kvtop.model.quantity import format_tokens

_MINUTES_FROM_S = 90.0


class ProgressWords:
    """Takes a run's events; `line` says what is going on, how far it is and how long it may still take."""

    def __init__(self) -> None:
        self._takers = {
            "started": self._started,
            "cell": self._cell,
            "request": self._request,
            "note": self._note,
            "progress": self._progress,
        }
        self._doing = "starting"
        self._since_ts: float | None = None
        self._repeats: int | None = None
        self._done, self._total = 0, 0
        self._end_ts: float | None = None

    def take(self, event: Event) -> None:
        """Take note of an event."""
        taker = self._takers.get(event.type)
        if taker is not None:
            taker(event.data, event.ts)

    def line(self, now_ts: float) -> str:
        """Return the line as of now, in Unix seconds."""
        parts = [self._doing]
        if self._since_ts is not None:
            parts.append(f"waiting for the answer {max(now_ts - self._since_ts, 0):.0f} s")
        if self._total:
            parts.append(f"{self._done}/{self._total}")
        parts.append(_left(None if self._end_ts is None else self._end_ts - now_ts))
        return " · ".join(part for part in parts if part)

    def _started(self, data: Any, _: float) -> None:
        plan = data.get("plan")
        self._repeats = _count(plan.get("repeats")) if isinstance(plan, dict) else None
        self._done, self._total = 0, _count(data.get("cells")) or 0
        self._doing, self._since_ts, self._end_ts = "starting", None, None

    def _cell(self, data: Any, ts: float) -> None:
        self._since_ts = ts
        target, repeat = _count(data.get("target_tokens")), _count(data.get("repeat"))
        if target is None:
            self._doing = "calibrating"
            return
        words = [format_tokens(target), str(data.get("prefix") or "")]
        if repeat is not None:
            words.append(f"{repeat}/{self._repeats}" if self._repeats else str(repeat))
        if data.get("tag") == "prime":
            words.append("priming")
        self._doing = " ".join(word for word in words if word)

    def _request(self, _: Any, __: float) -> None:
        self._since_ts = None

    def _note(self, data: Any, _: float) -> None:
        if data.get("code") == "memory":
            self._doing = "looking whether memory stands still"
        elif data.get("code") == "waiting":
            self._doing = "waiting before the next try"

    def _progress(self, data: Any, ts: float) -> None:
        self._done, self._total = _count(data.get("done")) or 0, _count(data.get("total")) or self._total
        left_s = data.get("left_s")
        self._end_ts = ts + left_s if isinstance(left_s, int | float) else None


def _left(seconds: float | None) -> str:
    if seconds is None or seconds < 1:
        return ""
    if seconds < _MINUTES_FROM_S:
        return f"about {seconds:.0f} s left"
    return f"about {seconds / 60:.0f} min left"


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
