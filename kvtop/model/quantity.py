"""Quantities as people type and read them: 4k tokens, 100ms, 1.2 GiB."""

from __future__ import annotations

import re

KIB = 1024
MIB = KIB**2
GIB = KIB**3

_TOKENS = re.compile(r"(\d+(?:\.\d+)?)\s*([kKmM]?)")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h)?")
_SECONDS = {"ms": 0.001, "s": 1.0, None: 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
UNKNOWN = "–"


def parse_tokens(text: str) -> int:
    """Return the token count that `text` names: `4096`, `4k` (4,096), `1m` (1,048,576).

    Raises ValueError with a sentence for the user when it is not a positive count.
    """
    match = _TOKENS.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a number of tokens; write 4096, 4k or 128k")
    count = float(match[1]) * {"": 1, "k": KIB, "m": MIB}[match[2].lower()]
    if count < 1 or count != int(count):
        raise ValueError(f"{text!r} is not a whole number of tokens of at least 1")
    return int(count)


def parse_duration(text: str) -> float:
    """Return seconds for `100ms`, `60s`, `2m`, `1h` or a bare number of seconds.

    Raises ValueError with a sentence for the user when it is not a positive duration.
    """
    match = _DURATION.fullmatch(text.strip())
    if not match or float(match[1]) <= 0:
        raise ValueError(f"{text!r} is not a duration; write 100ms, 60s or 5m")
    return float(match[1]) * _SECONDS[match[2]]


def format_tokens(count: float | None) -> str:
    """Return `4k` for 4,096, `1M` for 1,048,576, `1,234` otherwise, a dash for None."""
    if count is None:
        return UNKNOWN
    whole = round(count)
    for unit, factor in (("M", MIB), ("k", KIB)):
        if whole >= factor and whole % factor == 0:
            return f"{whole // factor:,}{unit}"
    return f"{whole:,}"


def format_bytes(count: float | None) -> str:
    """Return bytes in the binary unit that leaves one to four digits, a dash for None."""
    if count is None:
        return UNKNOWN
    size = abs(count)
    for unit, factor in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if size >= factor:
            return f"{count / factor:,.1f} {unit}"
    return f"{count:,.0f} B"


def format_seconds(seconds: float | None) -> str:
    """Return a duration with three significant digits, a dash for None."""
    if seconds is None:
        return UNKNOWN
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
