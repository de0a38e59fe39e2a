"""Names by which the filter knows the fields of a record."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from kvtop.model.failure import Failure

if TYPE_CHECKING:
    from kvtop.model.endpoint import Price

Values = Callable[[str], object]
"""Gives the value of a field of `RequestRecord`, or `run_id`; None where there is none. Types unchecked."""

Unit = Literal["tokens", "seconds", "plain"]

TEXT_FIELDS: Mapping[str, str] = {
    "id": "id",
    "cell": "cell",
    "tag": "tag",
    "model": "model",
    "dialect": "dialect",
    "prefix": "prefix",
    "setting": "setting",
    "finish": "finish_reason",
    "source": "usage_source",
    "failure": "failure",
    "note": "notes",
    "run": "run_id",
}

NUMBER_FIELDS: Mapping[str, tuple[str, Unit]] = {
    "target": ("target_tokens", "tokens"),
    "prompt": ("prompt_tokens", "tokens"),
    "cached": ("cached_tokens", "tokens"),
    "out": ("completion_tokens", "tokens"),
    "reasoning": ("reasoning_tokens", "tokens"),
    "connect": ("connect_s", "seconds"),
    "ttft": ("ttft_s", "seconds"),
    "latency": ("latency_s", "seconds"),
    "tok/s": ("decode_tok_s", "plain"),
    "cost": ("cost", "plain"),
    "level": ("level", "plain"),
    "repeat": ("repeat", "plain"),
    "status": ("status", "plain"),
}

STATE_FIELD = "state"
_INT_BITS = 63


def text_of(value: object) -> str:
    """Return what a text field says, case folded; a failure by its code and text."""
    if isinstance(value, str):
        return value.casefold()
    if isinstance(value, Failure):
        return f"{value.code} {value.text}".casefold()
    if isinstance(value, Mapping):
        return f"{value.get('code', '')} {value.get('text', '')}".casefold()
    if isinstance(value, list | tuple):
        return " ".join(map(str, value)).casefold()
    return ""


def number_of(value: object) -> float | None:
    """Return a finite number of at most 64 bits, None for anything else."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return value if value.bit_length() <= _INT_BITS else None
    return None


def cost_of(values: Values, price: Price | None) -> float | None:
    """Return the cost of a request in the price's currency, at most: unknown cached tokens count as fresh."""
    prompt, completion = number_of(values("prompt_tokens")), number_of(values("completion_tokens"))
    if price is None or prompt is None or completion is None:
        return None
    cached = number_of(values("cached_tokens")) or 0
    return price.cost(int(prompt), int(completion), int(cached))
