"""What a runner tells its followers, one line of `events.jsonl` each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

EventType = Literal["started", "cell", "request", "progress", "note", "finding", "finished"]

RunState = Literal["running", "done", "failed", "cancelled", "interrupted"]
"""`done`: all cells measured; `failed`: finished, with failures in it; `cancelled`: stopped by the user
or by the budget, data kept; `interrupted`: the runner died (nobody holds the lock, nothing says finished)."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `data` holds JSON values whose keys depend on `type` (documented in docs/run-folder.md)."""

    ts: float
    type: EventType
    data: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the event as one flat JSON object."""
        return {"ts": self.ts, "type": self.type, **self.data}

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Self:
        """Rebuild an event. Raises KeyError when `ts` or `type` is missing."""
        rest = {key: value for key, value in line.items() if key not in ("ts", "type")}
        return cls(line["ts"], line["type"], rest)
