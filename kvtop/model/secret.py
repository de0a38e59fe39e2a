"""A key that cannot be printed by accident."""

from __future__ import annotations

import re

MASK = "••••"
_SHORTEST_FRAGMENT = 8


class Secret:
    """An API key. `repr`, `str` and formatting show a mask; `reveal` gives the value."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the key itself, for an `Authorization` header and nothing else."""
        return self._value

    def redact(self, text: str) -> str:
        """Replace every occurrence of the key, or of a long piece of it, in `text`."""
        if not self._value:
            return text
        redacted = text.replace(self._value, MASK)
        if len(self._value) <= _SHORTEST_FRAGMENT:
            return redacted
        pieces = {
            self._value[i : i + _SHORTEST_FRAGMENT] for i in range(len(self._value) - _SHORTEST_FRAGMENT + 1)
        }
        longest_first = "|".join(re.escape(p) for p in sorted(pieces))
        return re.sub(rf"(?:{longest_first})+[\w-]*", MASK, redacted) if longest_first else redacted

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __reduce__(self) -> str:
        raise TypeError("a Secret is never pickled")
