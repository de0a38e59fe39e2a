"""Values read from a run folder, which may come from another machine or be damaged."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from kvtop.model.failure import Failure
from kvtop.model.text import clean_text

TEXT_LIMIT = 4096
"""Characters kept of one string."""

_DEPTH_LIMIT = 32
_INT_BITS = 63
_NEEDS_CLEANING = re.compile(r"\\|[eE]\+?\d{3}|\d{19}")
"""What a line may hold that must not pass unseen: escapes, numbers beyond a float or 64 bits."""

Converter = Callable[[Any], Any]


def safe_text(text: str) -> str:
    """Return `text` as it is when it can be shown as it is, else cleaned."""
    if text.isprintable() and len(text) <= TEXT_LIMIT:
        return text
    return clean_text(text, TEXT_LIMIT)


def clean_json(value: Any, clean: Callable[[str], str] = safe_text, depth: int = 0) -> Any:
    """Return `value` as JSON whose depth is bounded and whose numbers are finite and fit 64 bits, else None.

    Strings pass `clean`, which makes them safe to show unless told otherwise.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= _INT_BITS else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth >= _DEPTH_LIMIT:
        return "…"
    if isinstance(value, Mapping):
        return {clean(str(key)): clean_json(item, clean, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(item, clean, depth + 1) for item in value]
    return clean(str(value))


def parse_object(line: bytes) -> dict[str, Any]:
    """Return the cleaned JSON object in `line`. Raises ValueError saying what is wrong with it."""
    try:
        text = line.decode()
        value = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - one kind of error for all content
    if text.isprintable() and len(text) <= TEXT_LIMIT and not _NEEDS_CLEANING.search(text):
        return value
    cleaned: dict[str, Any] = clean_json(value)
    return cleaned


def typed_fields(kind: type, data: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the entries of `data` that are fields of the dataclass `kind` and have the field's type.

    Also returns the names of optional fields whose value was dropped for its type.
    Raises ValueError when a required field is missing or has a wrong type.
    """
    converters, required = _converters(kind)
    values: dict[str, Any] = {}
    dropped = []
    for name, value in data.items():
        convert = converters.get(name)
        if convert is None or value is None:
            continue
        try:
            values[name] = convert(value)
        except ValueError:
            if name in required:
                raise ValueError(f"`{name}` has a wrong type") from None
            dropped.append(name)
    if missing := [name for name in required if name not in values]:
        raise ValueError(f"`{missing[0]}` is missing")
    return values, dropped


@cache
def _converters(kind: type) -> tuple[Mapping[str, Converter], tuple[str, ...]]:
    hints = get_type_hints(kind)
    converters = {field.name: _converter(hints[field.name]) for field in fields(kind)}
    required = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
    return converters, tuple(required)


def _converter(hint: Any) -> Converter:
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (part for part in get_args(hint) if part is not type(None))
    if get_origin(hint) is Literal:
        return _one_of(get_args(hint))
    return _CONVERTERS[get_origin(hint) or hint]


def _one_of(choices: tuple[Any, ...]) -> Converter:
    def convert(value: Any) -> Any:
        if not isinstance(value, str) or value not in choices:
            raise ValueError("unknown word")
        return value

    return convert


def _instance(kind: type) -> Converter:
    def convert(value: Any) -> Any:
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError("wrong type")  # noqa: TRY004 - one kind of error for all content
        return value

    return convert


def finite_number(value: Any) -> float:
    """Return a JSON number as a float. Raises ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("wrong type")  # noqa: TRY004 - one kind of error for all content
    if isinstance(value, int) and value.bit_length() > _INT_BITS:
        raise ValueError("too large")
    if not math.isfinite(value):
        raise ValueError("not finite")
    return float(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("wrong type")
    return tuple(value)


def _failure(value: Any) -> Failure:
    if not isinstance(value, dict):
        raise ValueError("wrong type")  # noqa: TRY004 - one kind of error for all content
    return Failure(**typed_fields(Failure, {"code": "unknown", "text": "", **value})[0])


_CONVERTERS: Mapping[Any, Converter] = {
    str: _instance(str),
    int: _instance(int),
    float: finite_number,
    dict: _instance(dict),
    get_origin(Mapping[str, Any]): _instance(dict),
    tuple: _texts,
    Failure: _failure,
}
