"""Failures as values: what happened, why it matters, what to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

from kvtop.model.text import clean_text


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that went wrong, told in words a user can act on."""

    code: str
    """Stable lower-case identifier, e.g. `auth`, `context_length`, `truncated`."""
    text: str
    """What happened, one line, cleaned and with keys removed."""
    hint: str = ""
    """What to do about it, one line."""
    status: int | None = None
    """HTTP status, where one was received."""
    retry_after_s: float | None = None
    """How long the server asked to wait, in seconds."""
    limit_tokens: int | None = None
    """The context limit that the server named, in tokens."""
    asked_tokens: int | None = None
    """The prompt length that the server counted when it refused, in tokens."""

    @classmethod
    def of(cls, code: str, text: object, hint: str = "", **details: Any) -> Self:
        """Build a failure from foreign text, which is cleaned here."""
        return cls(code, clean_text(text), clean_text(hint), **details)

    def to_json(self) -> dict[str, Any]:
        """Return the non-empty fields as a JSON object."""
        return {key: value for key, value in asdict(self).items() if value not in (None, "")}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Rebuild a failure from `to_json`; unknown keys are ignored."""
        known = {key: data[key] for key in cls.__slots__ if key in data}
        known.setdefault("code", "unknown")
        known.setdefault("text", "")
        return cls(**known)

    def __str__(self) -> str:
        return f"{self.text} {self.hint}".strip()


class KvtopError(Exception):
    """A failure that ends a command. Carries the `Failure` to show."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure
