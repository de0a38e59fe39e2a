"""What finishing a run will send at most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtop.model.endpoint import Price
from kvtop.model.estimate import Estimate, estimate_scan
from kvtop.model.failure import KvtopError
from kvtop.model.plan import ScanPlan
from kvtop.runs.archive import find_run
from kvtop.runs.manifest import Manifest, read_manifest
from kvtop.runs.reader import read_requests
from kvtop.settings.keys import PREFIXES
from kvtop.settings.values import as_count, as_lengths, as_number
from kvtop.ui.scan_form import MOST_REQUESTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from kvtop.model.record import RequestRecord
    from kvtop.runs.layout import RunFolder

_MEASURED = frozenset({"cold", "reused"})


def resume_sentence(root: Path, run_id: str) -> str:
    """Return what finishing a run sends and costs, as the rest of a sentence. Reads files: for a thread."""
    try:
        cost = resume_cost(find_run(root, run_id))
    except (KvtopError, ValueError):
        return "what it sends is not known"
    price = "" if cost.cost is None else f", about {cost.currency} {cost.cost:,.2f}"
    return f"it sends at most {cost.total_tokens:,} tokens{price}"


def resume_cost(folder: RunFolder) -> Estimate:
    """Return the bound for what is missing in a scan.

    Raises KvtopError for a folder that cannot be read, and ValueError for a plan that is none.
    """
    manifest = read_manifest(folder)
    finished = frozenset(_finished(read_requests(folder).records))
    local = manifest.path == "local"
    return estimate_scan(_plan(manifest.plan), local=local, price=_price(manifest), finished_cells=finished)


def _plan(kept: Mapping[str, Any]) -> ScanPlan:
    """Return the part of a plan that the estimate needs. Raises ValueError."""
    prefix = kept.get("prefix")
    if prefix not in PREFIXES:
        raise ValueError("unknown prefix")
    lengths, repeats = as_lengths(kept.get("lengths")), as_count(kept.get("repeats"))
    if len(lengths) * repeats > MOST_REQUESTS:
        raise ValueError("too many requests")
    max_tokens = kept.get("max_tokens")
    return ScanPlan(
        lengths=lengths,
        repeats=repeats,
        prefix=prefix,
        max_tokens=None if max_tokens is None else as_count(max_tokens),
    )


def _finished(records: Iterable[RequestRecord]) -> list[str]:
    last = {record.cell: record for record in records if record.tag in _MEASURED}
    return [cell for cell, record in last.items() if record.measured]


def _price(manifest: Manifest) -> Price | None:
    """Return the price that the run was begun at. Raises ValueError for what is none."""
    table = manifest.context.get("price")
    if not isinstance(table, dict):
        return None
    names = ("input", "cached_input", "output")
    prices = {name: as_number(table[name]) for name in names if table.get(name) is not None}
    return Price(currency=str(table.get("currency", "USD")), **prices)
