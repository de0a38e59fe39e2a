"""JSON from outside: parsed without raising, read without trusting its types."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MAX_DEPTH = 8
_MAX_ITEMS = 64
_MAX_COUNT = 2**53


def parse_json(text: str | bytes) -> Any:
    """Return the parsed value, None for anything that is not JSON or nested too deep."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def as_object(value: Any) -> Mapping[str, Any]:
    """Return `value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return `value` if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Return `value` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int | None:
    """Return `value` if it is a whole number from 0 to 2**53, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value) or not 0 <= value <= _MAX_COUNT or value != int(value):
        return None
    return int(value)


def tidy_json(value: Any, clean: Callable[[str], str], depth: int = 0) -> Any:
    """Return a copy of `value` that is safe to keep: strings cleaned, size and depth bounded.

    Non-finite numbers and what is nested deeper than eight levels become None.
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict | list):
        return _tidy_container(value, clean, depth)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and abs(value) > _MAX_COUNT:
        return None
    return value


def _tidy_container(value: dict[str, Any] | list[Any], clean: Callable[[str], str], depth: int) -> Any:
    if depth >= _MAX_DEPTH:
        return None
    if isinstance(value, list):
        return [tidy_json(item, clean, depth + 1) for item in value[:_MAX_ITEMS]]
    items = list(value.items())[:_MAX_ITEMS]
    return {clean(key): tidy_json(item, clean, depth + 1) for key, item in items}
