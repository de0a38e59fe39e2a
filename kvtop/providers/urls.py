"""Checking of base URLs and paths. A complaint never repeats a URL, which may hold a key."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable
    from urllib.parse import SplitResult

PATH_NAMES = ("chat", "responses", "messages", "models", "tokenize", "count_tokens")
"""Paths that a profile may set, by name."""

_NOT_IN_A_URL = re.compile(r"[^\x21-\x7e]|[\"'<>\\^`{|}]")
_ENDPOINT_PATH = re.compile(r"(?:/v1)?/(?:chat/completions|completions|responses|messages|models)/?$")
_VERSION = "/v1"


def checked_base_url(text: str) -> str:
    """Return a base URL without trailing slashes. Raises ValueError with the rest of a sentence."""
    parts = _checked_url(text)
    if parts.query or parts.fragment or "?" in text or "#" in text:
        raise ValueError("must hold no ? and no #")
    if _ENDPOINT_PATH.search(parts.path):
        raise ValueError(
            "holds the path of one endpoint; write what stands before /v1 and use [paths] for the rest"
        )
    return text.rstrip("/")


def checked_url(text: str) -> str:
    """Return a full http URL without user name. Raises ValueError with the rest of a sentence."""
    return _checked_url(text).geturl()


def checked_path(text: str) -> str:
    """Return a path on the base URL's own host. Raises ValueError with the rest of a sentence."""
    if not text.startswith("/") or text.startswith("//") or _NOT_IN_A_URL.search(text) or "#" in text:
        raise ValueError("must be a path that starts with one / and is joined to base_url")
    return text


def without_version(base_url: str, paths: Iterable[str]) -> str:
    """Return the base URL without a trailing `/v1` when the paths, default ones included, bring their own."""
    if base_url.endswith(_VERSION) and all(path.startswith(f"{_VERSION}/") for path in paths):
        return base_url.removesuffix(_VERSION).rstrip("/")
    return base_url


def sends_in_the_clear(base_url: str) -> bool:
    """Whether what is sent to the URL can be read on the way: plain http to another host."""
    parts = urlsplit(base_url)
    return parts.scheme.lower() == "http" and not _is_this_host(parts.hostname or "")


def _is_this_host(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _checked_url(text: str) -> SplitResult:
    if _NOT_IN_A_URL.search(text):
        raise ValueError("holds a quote, white space or another character that no URL holds")
    parts = _split(text)
    if parts is None:
        raise ValueError("is no URL: its host or port cannot be read")
    if parts.scheme.lower() not in ("http", "https") or not parts.netloc:
        raise ValueError("must start with http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must hold no user name and no key; name the key with key_env")
    if not parts.hostname:
        raise ValueError("names no host")
    return parts


def _split(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    return None if port == 0 else parts
