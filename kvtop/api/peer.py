"""Whom a failure text is about, and what must not appear in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from kvtop.api.url import origin
from kvtop.model.secret import Secret
from kvtop.model.text import DEFAULT_LIMIT, clean_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvtop.model.endpoint import Endpoint

_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Peer:
    """The endpoint in the words of a failure."""

    where: str
    """Scheme, host and port."""
    model: str
    key_origin: str
    secrets: tuple[Secret, ...] = ()

    @classmethod
    def of(cls, endpoint: Endpoint) -> Self:
        """Describe `endpoint`. Raises KvtopError with code `bad_url` for an unusable base URL."""
        return cls(origin(endpoint.base_url), endpoint.model, endpoint.key_origin, tuple(_secrets(endpoint)))

    def clean(self, text: str, limit: int = DEFAULT_LIMIT) -> str:
        """Return foreign text as one safe line without any key in it."""
        return self.redact(clean_text(text, limit))

    def redact(self, text: str) -> str:
        """Return `text` with every key masked, and what cannot be written as UTF-8 replaced."""
        for secret in self.secrets:
            text = secret.redact(text)
        return text.encode("utf-8", "replace").decode("utf-8")


def _secrets(endpoint: Endpoint) -> Iterator[Secret]:
    if endpoint.key:
        yield endpoint.key
    for name, value in endpoint.headers.items():
        if _SECRET_HEADER.search(name) and value.strip():
            yield Secret(value.split()[-1])
