"""Asks an engine for its models: at the profile's own origin, with the key only where it is wanted."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from kvtop import __version__
from kvtop.model.failure import Failure
from kvtop.ui.feeds.model_card import ModelCard, read_cards

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvtop.model.endpoint import Endpoint

TIMEOUT_S = 2.0
LARGEST_ANSWER_BYTES = 2_000_000

_VERSION = re.compile(r"/v\d+(?:(?:alpha|beta)\d*)?(?:/openai)?$")
_KEY_WANTED = (401, 403)

UNUSABLE_SETTINGS = (httpx.InvalidURL, ValueError, ImportError, OSError)
"""What httpx raises for proxies and certificates that it cannot use."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one question brought."""

    answers: bool
    """Whether the server answered at all, and not with an error of its own."""
    cards: tuple[ModelCard, ...] = ()
    failure: Failure | None = None


class EngineClient:
    """One connection to the endpoint's origin. Redirects are not followed, so a key never leaves it.

    Raises UNUSABLE_SETTINGS when the environment names a broken proxy or certificate file.
    """

    def __init__(self, endpoint: Endpoint, transport: httpx.BaseTransport | None = None) -> None:
        self._endpoint = endpoint
        self._url = models_url(endpoint.base_url, endpoint.paths.get("models", "/v1/models"))
        self._sends_key = False
        self._client = httpx.Client(
            headers={"User-Agent": f"kvtop/{__version__}"},
            verify=endpoint.verify_tls and self._url.startswith("https"),
            timeout=TIMEOUT_S,
            follow_redirects=False,
            trust_env=not is_loopback(endpoint.base_url),
            transport=transport,
        )

    def ask(self) -> Answer:
        """Return what the server says now. Raises nothing."""
        try:
            status, body = self._get()
            if status in _KEY_WANTED and not self._sends_key and self._endpoint.key:
                self._sends_key = True
                status, body = self._get()
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ValueError) as error:
            return Answer(
                answers=False, failure=self._failure("unreachable", f"The engine does not answer: {error}")
            )
        return self._answer(status, body)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _get(self) -> tuple[int, bytes]:
        with self._client.stream("GET", self._url, headers=self._key_headers()) as response:
            body = b""
            for piece in response.iter_bytes():
                body += piece
                if len(body) > LARGEST_ANSWER_BYTES:
                    raise ValueError("its list of models is endless")
            return response.status_code, body

    def _key_headers(self) -> Mapping[str, str]:
        key = self._endpoint.key
        if not self._sends_key or not key:
            return {}
        own = dict(self._endpoint.headers)
        if self._endpoint.dialect == "anthropic-messages":
            return {"x-api-key": key.reveal(), "anthropic-version": "2023-06-01", **own}
        return {"Authorization": f"Bearer {key.reveal()}", **own}

    def _answer(self, status: int, body: bytes) -> Answer:
        if status in _KEY_WANTED:
            hint = "Check key_env, key_file or key_command of the profile."
            return Answer(
                answers=True, failure=self._failure("auth", f"It refuses the key (status {status}).", hint)
            )
        if status >= 500:
            failure = self._failure("engine_error", f"It answers with status {status}: loading or broken.")
            return Answer(answers=False, failure=failure)
        if status != httpx.codes.OK:
            return Answer(
                answers=True, failure=self._failure("no_models", f"It lists no models (status {status}).")
            )
        try:
            return Answer(answers=True, cards=read_cards(body))
        except (ValueError, RecursionError):
            return Answer(
                answers=True, failure=self._failure("no_models", "Its list of models cannot be read.")
            )

    def _failure(self, code: str, text: str, hint: str = "") -> Failure:
        key = self._endpoint.key
        return Failure.of(code, key.redact(text) if key else text, hint)


def models_url(base_url: str, path: str) -> str:
    """Return the address of the list of models; a version in the base stands for the one of the path."""
    base = base_url.split("?")[0].rstrip("/")
    way = f"/{path.lstrip('/')}"
    return base + (way.removeprefix("/v1") if _VERSION.search(base) and way.startswith("/v1/") else way)


def is_loopback(base_url: str) -> bool:
    """Whether the address is one of this host."""
    try:
        host = (urlsplit(base_url).hostname or "").rstrip(".")
        return host == "localhost" or host.endswith(".localhost") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
