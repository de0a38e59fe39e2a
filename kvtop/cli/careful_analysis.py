"""The analysis of a run folder on a host where polars may not load: then without the memory tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvtop.analysis.scan import analyse_scan
from kvtop.cli.kept_plan import kept_plan, kept_price
from kvtop.cli.scan_analysis import analyse_folder
from kvtop.model.event import RunState
from kvtop.model.failure import Failure
from kvtop.model.finding import Finding
from kvtop.runs.layout import RunFolder
from kvtop.runs.manifest import read_manifest
from kvtop.runs.reader import read_requests

NO_POLARS = Failure(
    "polars_missing",
    "polars cannot be loaded, so memory is sampled and kept but not analysed.",
    "Install polars (pip install polars), then: kvtop runs show --recompute",
)


def analyse_carefully(folder: RunFolder, state: RunState) -> dict[str, Any]:
    """Return the `kvtop.scan/1` document; without polars the requests alone, and a finding that says so.

    Raises KvtopError when run.toml cannot be read.
    """
    try:
        return analyse_folder(folder, state)
    except ImportError:
        return _requests_alone(folder, state)


def is_partial(document: Mapping[str, Any]) -> bool:
    """Whether `document` lacks what polars would have told, so that it is not to replace a whole one."""
    return any(finding["code"] == NO_POLARS.code for finding in document["findings"])


def _requests_alone(folder: RunFolder, state: RunState) -> dict[str, Any]:
    manifest = read_manifest(folder)
    document = analyse_scan(
        kept_plan(folder, manifest),
        read_requests(folder).records,
        run=folder.id,
        path="api",
        gpu_csv=b"",
        processes_csv=b"",
        base_windows=(),
        price=kept_price(manifest),
        simulated=manifest.demo is not None,
        state=state,
    )
    missing = Finding(NO_POLARS.code, "problem", NO_POLARS.text, NO_POLARS.hint)
    return {**document, "path": manifest.path, "findings": [missing.to_json(), *document["findings"]]}
