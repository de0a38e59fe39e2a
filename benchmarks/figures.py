"""How results are told: a table for people on stderr, one JSON document on stdout."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from statistics import median

Figures = Mapping[str, object]


def tell(name: str, budgets: Figures, cases: Mapping[str, Figures]) -> None:
    """Print the figures of each case, what they should be, and the load of the machine."""
    load = [round(value, 2) for value in os.getloadavg()]
    machine = {"cpus": os.cpu_count(), "load_1_5_15_min": load}
    print(json.dumps({"benchmark": name, "machine": machine, "budgets": budgets, "cases": cases}))
    columns = list(dict.fromkeys(key for figures in cases.values() for key in figures))
    rows = [["", *columns]]
    rows += [[case, *(_cell(figures.get(column)) for column in columns)] for case, figures in cases.items()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]
        print("  ".join(cells).rstrip(), file=sys.stderr)
    wanted = ", ".join(f"{key} {value}" for key, value in budgets.items())
    print(f"budget: {wanted or 'none'}; load {load[0]} on {os.cpu_count()} cores", file=sys.stderr)


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Return best, median and worst of some times."""
    return {
        "best_s": round(min(seconds), 3),
        "median_s": round(median(seconds), 3),
        "worst_s": round(max(seconds), 3),
        "n": len(seconds),
    }


def _cell(value: object) -> str:
    return "-" if value is None else str(value)
