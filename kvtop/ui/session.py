"""What happened in the app since it started, for the last words after it has ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(slots=True)
class SeenRun:
    """One run that was followed."""

    folder: Path
    simulated: bool = False
    was_live: bool = False
    """Whether it was started here or went on while it was watched."""
    state: str = "running"
    done: int | None = None
    """Cells measured."""


@dataclass(slots=True)
class Session:
    """The runs of this session by id, in the order of their first sight."""

    runs: dict[str, SeenRun] = field(default_factory=dict)

    def opened(self, run_id: str, folder: Path, *, live: bool, simulated: bool) -> None:
        """Note a run that is followed now."""
        run = self.runs.setdefault(run_id, SeenRun(folder))
        run.simulated = simulated
        run.was_live = run.was_live or live

    def started(self, run_id: str, folder: Path) -> None:
        """Note a run that the user started here."""
        self.runs.setdefault(run_id, SeenRun(folder)).was_live = True

    def told(self, run_id: str, state: str, done: int) -> None:
        """Note how far a run is."""
        if run_id in self.runs:
            self.runs[run_id].state, self.runs[run_id].done = state, done

    def last_words(self) -> tuple[str, ...]:
        """Return what ran here, where its data is and how to attach again; nothing if nothing ran."""
        lines: list[str] = []
        for run_id, run in self.runs.items():
            if run.was_live:
                lines += _about(run_id, run)
        return tuple(lines)


def _about(run_id: str, run: SeenRun) -> list[str]:
    simulated = " (SIMULATED)" if run.simulated else ""
    measured = "" if run.done is None else f"; cells measured: {run.done:,}"
    lines = [f"{run_id}{simulated}: {_in_words(run.state)}{measured}", f"  run folder: {run.folder}"]
    if run.state == "running":
        lines += [f"  attach again: kvtop runs follow {run_id}", f"  stop it: kvtop runs cancel {run_id}"]
    else:
        lines.append(f"  look at it: kvtop runs show {run_id}")
    return lines


def _in_words(state: str) -> str:
    return "still running" if state == "running" else state
