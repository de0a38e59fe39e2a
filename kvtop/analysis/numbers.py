"""Foreign values as finite numbers, and the few statistics over short lists."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

_LARGEST = 1e18


def number(value: object) -> float | None:
    """Return `value` as a float, or None when it is no finite number below 1e18 in size."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -_LARGEST < value < _LARGEST else None


def numbers(values: Iterable[object]) -> list[float]:
    """Return the finite numbers among `values`."""
    return [known for value in values if (known := number(value)) is not None]


def known_fields(records: Iterable[object], name: str) -> list[float]:
    """Return the finite numbers that `records` hold in the field `name`."""
    return numbers(getattr(record, name, None) for record in records)


def median(values: Sequence[float]) -> float | None:
    """Return the median, or None of nothing."""
    return statistics.median(values) if values else None


def quantile(values: Sequence[float], share: float) -> float | None:
    """Return the quantile by linear interpolation (numpy's `linear`), or None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def spread(values: Sequence[float]) -> float | None:
    """Return the width of the middle 90 %, which a single stray sample among 20 does not move."""
    low, high = quantile(values, 0.05), quantile(values, 0.95)
    return None if low is None or high is None else high - low


def whole(value: float | None) -> int | float | None:
    """Return a count as an int where it is one: the median of two repeats may be a half."""
    return int(value) if value is not None and value.is_integer() else value
