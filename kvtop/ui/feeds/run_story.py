"""What the events of a run say of its progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtop.model.text import clean_text
from kvtop.runs.foreign import finite_number
from kvtop.runs.reader import parse_event
from kvtop.ui.messages import ProgressTold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kvtop.model.event import RunState

_ENDED: dict[str, RunState] = {"done": "done", "failed": "failed", "cancelled": "cancelled"}
_CELL_LIMIT = 60
_LONGEST_S = 1e9


class RunStory:
    """Takes the lines of `events.jsonl` and tells how far the run is."""

    def __init__(self) -> None:
        self._takers: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "started": self._started,
            "cell": self._cell_begun,
            "request": self._request_ended,
            "progress": self._progress,
            "note": self._note,
            "finished": self._finished,
        }
        self.forget()

    def forget(self) -> None:
        """Begin again, for an events file that was replaced."""
        self.simulated = False
        """Whether the runner said that all numbers are simulated."""
        self._end: RunState | None = None
        self._done = 0
        self._total: int | None = None
        self._left_s: float | None = None
        self._spent_tokens: int | None = None
        self._cell = self._text = ""

    def take(self, lines: Iterable[bytes]) -> None:
        """Take new lines; those that are no events are skipped."""
        for line in lines:
            try:
                event = parse_event(line)
            except ValueError:
                continue
            if taker := self._takers.get(event.type):
                taker(event.data)

    def progress(self, run_id: str, *, live: bool) -> ProgressTold:
        """Return where the run stands; `live` is whether its lock is held."""
        state: RunState = "running" if live else self._end or "interrupted"
        text = self._text
        if state == "interrupted":
            text = f"The runner died; what it measured is kept. Go on with: kvtop runs resume {run_id}"
        return ProgressTold(
            run_id=run_id,
            done=self._done,
            total=self._total,
            left_s=self._left_s if live else None,
            spent_tokens=self._spent_tokens,
            cell=self._cell if live else "",
            state=state,
            text=text,
        )

    def _started(self, data: Mapping[str, Any]) -> None:
        self._end, self._text = None, ""
        self._total = _count(data.get("cells"))
        self.simulated = data.get("simulated") is True

    def _cell_begun(self, data: Mapping[str, Any]) -> None:
        self._cell = clean_text(data.get("cell") or data.get("tag") or "", _CELL_LIMIT)

    def _request_ended(self, data: Mapping[str, Any]) -> None:
        self._cell = ""
        failure = data.get("failure")
        if isinstance(failure, dict):
            self._text = clean_text(failure.get("text", ""))

    def _progress(self, data: Mapping[str, Any]) -> None:
        self._done = _count(data.get("done")) or 0
        self._total = _count(data.get("total"))
        self._left_s = _seconds(data.get("left_s"))
        self._spent_tokens = _count(data.get("spent_tokens"))

    def _note(self, data: Mapping[str, Any]) -> None:
        if data.get("code") != "base":
            self._text = clean_text(data.get("text", ""))

    def _finished(self, data: Mapping[str, Any]) -> None:
        self._end = _ENDED.get(str(data.get("state")))
        self._cell, self._left_s = "", None
        self._text = clean_text(data.get("text") or "")


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return value


def _seconds(value: object) -> float | None:
    try:
        seconds = finite_number(value)
    except ValueError:
        return None
    return seconds if 0 <= seconds < _LONGEST_S else None
