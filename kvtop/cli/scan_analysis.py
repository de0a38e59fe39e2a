"""From a run folder to its findings document: reads the files, hands the tables to the analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kvtop.analysis.scan import analyse_scan
from kvtop.cli.kept_plan import kept_plan, kept_price
from kvtop.model.event import RunState
from kvtop.runs.layout import RunFolder
from kvtop.runs.manifest import read_manifest
from kvtop.runs.reader import complete_bytes, read_events, read_requests


def analyse_folder(folder: RunFolder, state: RunState) -> dict[str, Any]:
    """Return the `kvtop.scan/1` document of a scan's run folder, from what is on disk now.

    Raises KvtopError when run.toml cannot be read.
    """
    manifest = read_manifest(folder)
    notes = [event.data for event in read_events(folder).events if event.type == "note"]
    return analyse_scan(
        kept_plan(folder, manifest),
        read_requests(folder).records,
        run=folder.id,
        path=manifest.path,
        gpu_csv=complete_bytes(folder.gpu_csv),
        processes_csv=complete_bytes(folder.processes_csv),
        base_windows=_base_windows(notes),
        price=kept_price(manifest),
        simulated=manifest.demo is not None,
        state=state,
        engine=manifest.context.get("owned_by"),
        over_context=_over_context(notes),
    )


def _base_windows(notes: Sequence[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """Return the idle spans of all sessions, each from before its first measured request."""
    spans = [(note.get("from_ts"), note.get("to_ts")) for note in notes if note.get("code") == "base"]
    return [(start, end) for start, end in spans if isinstance(start, float) and isinstance(end, float)]


def _over_context(notes: Sequence[Mapping[str, Any]]) -> dict[int, int | None]:
    """Return the lengths noted as too long for the server, and the limit where it is known."""
    unfit: dict[int, int | None] = {}
    for note in notes:
        length, limit = note.get("target_tokens"), note.get("limit_tokens")
        if note.get("code") == "over_context" and isinstance(length, int):
            unfit[length] = limit if isinstance(limit, int) else unfit.get(length)
    return unfit
