"""From what a person gave (text of a flag or variable, value of a file) to the value of a setting.

Each function raises ValueError with a sentence that goes on from the setting's name.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kvtop.model.quantity import parse_duration, parse_tokens
from kvtop.settings.toml_table import shown
from kvtop.settings.toml_text import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

FASTEST_RATE = 60
_SWITCH_WORDS = {
    **dict.fromkeys(("true", "on", "yes", "1"), True),
    **dict.fromkeys(("false", "off", "no", "0"), False),
}
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def as_name(value: object) -> str:
    """Return a profile name: it becomes a file name, so it holds no slash and starts with no dot."""
    if not is_safe_name(value):
        raise ValueError(f"is {shown(value)}, which is not a name: letters, digits, dots, dashes, at most 64")
    return str(value)


def is_safe_name(value: object) -> bool:
    """Whether a value can be the name of one of kvtop's own files."""
    return isinstance(value, str) and bool(_SAFE_NAME.fullmatch(value)) and ".." not in value


def as_folder(value: object) -> Path:
    """Return an absolute path or one that starts with `~/`; a Path is taken from the current folder."""
    if isinstance(value, Path):
        return value.absolute()
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError(f"is {shown(value)}, but must be the path of a folder")
    if not value.startswith(("/", "~/")):
        raise ValueError(f"is {shown(value)}, but must be an absolute path or start with ~/")
    return Path(value)


def as_duration(value: object) -> float:
    """Return seconds for `100ms`, `60s` or a bare number of seconds."""
    if isinstance(value, str):
        return _read(parse_duration, value)
    seconds = as_number(value)
    if seconds <= 0:
        raise ValueError(f"is {shown(value)}, but must be longer than 0")
    return seconds


def as_number(value: object) -> float:
    """Return a finite number of at least 0."""
    try:
        number = (
            math.nan if isinstance(value, bool) or not isinstance(value, str | int | float) else float(value)
        )
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"is {shown(value)}, but must be a number of at least 0")
    return number


def as_count(value: object) -> int:
    """Return a whole number of at least 1."""
    text = value.strip() if isinstance(value, str) else value
    if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 19:
        text = int(text)
    if isinstance(text, bool) or not isinstance(text, int) or text < 1:
        raise ValueError(f"is {shown(value)}, but must be a whole number of at least 1")
    return text


def as_rate(value: object) -> int:
    """Return a whole number of frames a second, 1 to 60."""
    rate = as_count(value)
    if rate > FASTEST_RATE:
        raise ValueError(f"is {shown(value)}, but must be at most {FASTEST_RATE}")
    return rate


def as_switch(value: object) -> bool:
    """Return true or false; a variable may also say on, off, yes, no, 1 or 0."""
    word = value.strip().lower() if isinstance(value, str) else value
    if isinstance(word, bool):
        return word
    if not isinstance(word, str) or word not in _SWITCH_WORDS:
        raise ValueError(f"is {shown(value)}, but must be true or false")
    return _SWITCH_WORDS[word]


def as_tokens(value: object) -> int:
    """Return a number of tokens: `4096`, `4k`."""
    return _read(parse_tokens, value) if isinstance(value, str) else as_count(value)


def as_lengths(value: object) -> tuple[int, ...]:
    """Return prompt lengths in tokens, ascending and each once: `4k,16k` or a list."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not items:
        raise ValueError(f'is {shown(value)}, but must be lengths in tokens such as "4k,16k"')
    return tuple(sorted({as_tokens(item) for item in items}))


def as_choice(options: tuple[str, ...]) -> Callable[[object], Any]:
    """Return a reader that takes one of `options` and names the nearest one otherwise."""

    def read(value: object) -> str:
        if value in options:
            return str(value)
        close = nearest(value, options) if isinstance(value, str) else None
        meant = f"; did you mean {close}?" if close else ""
        raise ValueError(f"is {shown(value)}, but must be one of {', '.join(options)}{meant}")

    return read


def _read(parse: Callable[[str], T], value: str) -> T:
    try:
        return parse(value[:64])
    except (ValueError, OverflowError) as error:
        raise ValueError(f"has no usable value: {error}") from None
