"""From a run folder to its findings document: reads the files, hands the tables to the analysis."""

from __future__ import annotations

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
    return analyse_scan(
        kept_plan(folder, manifest),
        read_requests(folder).records,
        run=folder.id,
        path=manifest.path,
        gpu_csv=complete_bytes(folder.gpu_csv),
        processes_csv=complete_bytes(folder.processes_csv),
        base_window=_base_window(folder),
        price=kept_price(manifest),
        simulated=manifest.demo is not None,
        state=state,
    )


def _base_window(folder: RunFolder) -> tuple[float, float] | None:
    """Return the span of the first base, the one from before the first measured request."""
    for event in read_events(folder).events:
        if event.type == "note" and event.data.get("code") == "base":
            window = event.data.get("from_ts"), event.data.get("to_ts")
            if isinstance(window[0], float) and isinstance(window[1], float):
                return window[0], window[1]
    return None
