"""Plan and price as a run folder keeps them; the folder may be damaged or come from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from kvtop.cli.before_sending import refuse_boundless
from kvtop.model.endpoint import Price
from kvtop.model.failure import Failure, KvtopError
from kvtop.model.plan import Prefix, ScanPlan
from kvtop.runs.layout import RunFolder
from kvtop.runs.manifest import Manifest


def kept_plan(folder: RunFolder, manifest: Manifest) -> ScanPlan:
    """Return the plan of a scan.

    Raises KvtopError `unreadable_run` when it is no plan of a scan, `too_many_requests` for too large a one.
    """
    if manifest.kind != "scan":
        text = f"{folder.id} is a {manifest.kind} run; this kvtop knows scans."
        raise KvtopError(Failure.of("other_kind", text, "Update kvtop."))
    kept = manifest.plan
    wrong = [name for name, fits in _CHECKS.items() if name in kept and not fits(kept[name])]
    if wrong:
        text = f"run.toml of {folder.id}: `plan.{wrong[0]}` has a value that no plan has."
        raise KvtopError(Failure.of("unreadable_run", text, "Its other files may still be readable."))
    plan = ScanPlan.from_json(kept)
    refuse_boundless(plan)
    return plan


def kept_price(manifest: Manifest) -> Price | None:
    """Return the price of the run's profile, None where there is none or it cannot be read."""
    table = manifest.context.get("price")
    if not isinstance(table, Mapping):
        return None
    names = ("input", "cached_input", "output")
    prices = {name: table[name] for name in names if _is_number(table.get(name))}
    return Price(currency=str(table.get("currency", "USD")), **prices)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    "lengths": lambda value: isinstance(value, list) and all(map(_is_count, value)),
    "repeats": _is_count,
    "prefix": lambda value: value in get_args(Prefix),
    "max_tokens": _is_count,
    "temperature": _is_number,
    "timeout_s": _is_number,
    "interval_s": _is_number,
    "seed": _is_whole,
    "max_total_tokens": _is_count,
    "keep_bodies": lambda value: isinstance(value, bool),
}
