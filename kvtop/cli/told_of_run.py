"""What the events of a run say of it that its findings do not."""

from __future__ import annotations

from kvtop.model.failure import KvtopError
from kvtop.runner.watching import ENGINE_NOTE, MEMORY_NOTE
from kvtop.runs.layout import RunFolder
from kvtop.runs.reader import read_events


def what_was_read(folder: RunFolder) -> list[str]:
    """Return the lines on the engine's process and the memory read, of the last session; none if untold."""
    told: dict[str, str] = {}
    try:
        events = read_events(folder).events
    except KvtopError:
        return []
    for event in events:
        if event.type == "note" and event.data.get("code") in (ENGINE_NOTE, MEMORY_NOTE):
            told[str(event.data["code"])] = str(event.data.get("text"))
    return [told[code] for code in (ENGINE_NOTE, MEMORY_NOTE) if code in told]
