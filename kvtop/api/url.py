"""Base URLs: checking what a user typed, and joining paths to it."""

from __future__ import annotations

import re
from typing import NoReturn
from urllib.parse import SplitResult, urlsplit

import httpx

from kvtop.model.failure import Failure, KvtopError
from kvtop.model.loopback import is_loopback

__all__ = ["check_base_url", "is_loopback", "join_url", "origin", "root_url"]

EXAMPLE = "http://127.0.0.1:8000"
_DEFAULT_PORTS = {"http": 80, "https": 443}
_SCHEME_LIKE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/+|https?(?::|/+)|/+")
_UNPRINTABLE = re.compile(r"[^\x21-\x7e]")
_VERSION = re.compile(r"v\d+(?:(?:alpha|beta)\d*)?")
_PASTED_ENDPOINTS = ("/chat/completions", "/v1/messages", "/v1/responses")


def check_base_url(text: str) -> str:
    """Return `text` if it is a usable base URL.

    Raises KvtopError with code `bad_url`, whose hint names the URL that was likely meant.
    """
    if _UNPRINTABLE.search(text) or "\\" in text:
        _reject(text, "has spaces, backslashes or characters that a URL cannot hold")
    parts = _split(text)
    if parts is None:
        _reject(text, "is not a URL")
    if parts.scheme.lower() not in _DEFAULT_PORTS or "//" not in text:
        _reject(text, "does not start with http:// or https://")
    if not parts.hostname:
        _reject(text, "names no host")
    if "@" in parts.netloc:
        _reject(text, "holds a user name or password; keys belong in key_env")
    return text


def join_url(base: str, path: str) -> str:
    """Return the URL of `path` below `base`.

    A path in the base survives; a version in the base (`/v1`, `/v4`, `/v1beta/openai`) takes the place
    of a leading `/v1` of the path. A query of the base goes behind the path. Raises KvtopError with
    code `bad_url` for an unusable base or for a path that is a URL or holds spaces.
    """
    parts = urlsplit(check_base_url(base))
    _check_path(path)
    way, _, query = path.partition("?")
    prefix = _base_path(parts)
    way = "/" + way.lstrip("/")
    if _names_version(prefix):
        way = way.removeprefix("/v1") if way.startswith("/v1/") else way
    queries = "&".join(part for part in (parts.query, query) if part)
    return f"{parts.scheme.lower()}://{parts.netloc}{prefix}{way}" + (f"?{queries}" if queries else "")


def root_url(base: str) -> str:
    """Return `base` without a trailing `/v1`: where engines serve `/tokenize` and `/metrics`.

    Raises KvtopError with code `bad_url` for an unusable base.
    """
    parts = urlsplit(check_base_url(base))
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme.lower()}://{parts.netloc}{_base_path(parts).removesuffix('/v1')}{query}"


def origin(url: str) -> str:
    """Return scheme, host and port of `url` in lower case, the scheme's own port left out.

    Raises KvtopError with code `bad_url` for an unusable URL.
    """
    parts = urlsplit(check_base_url(url))
    scheme = parts.scheme.lower()
    host = parts.hostname or ""
    shown = f"[{host}]" if ":" in host else host
    port = parts.port
    return f"{scheme}://{shown}" + (f":{port}" if port not in (None, _DEFAULT_PORTS[scheme]) else "")


def _split(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text)
        _ = parts.port
        httpx.URL(text)
    except (ValueError, httpx.InvalidURL):
        return None
    return parts


def _check_path(path: str) -> None:
    if "://" in path or _UNPRINTABLE.search(path) or "#" in path:
        failure = Failure.of(
            "bad_url",
            f"{path!r} is not a path below the base URL.",
            "Write a path such as /v1/chat/completions.",
        )
        raise KvtopError(failure)


def _base_path(parts: SplitResult) -> str:
    path = parts.path.rstrip("/")
    for pasted in _PASTED_ENDPOINTS:
        path = path.removesuffix(pasted)
    return path.rstrip("/")


def _names_version(prefix: str) -> bool:
    segments = prefix.removesuffix("/openai").rsplit("/", 1)
    return _VERSION.fullmatch(segments[-1]) is not None


def _reject(text: str, why: str) -> NoReturn:
    shown = re.sub(r"//[^/@]*@", "//", text)
    failure = Failure.of("bad_url", f"The base URL {shown!r} {why}.", f"Did you mean {_likely_meant(text)} ?")
    raise KvtopError(failure)


def _likely_meant(text: str) -> str:
    bare = _UNPRINTABLE.sub("", text.replace("\\", "/"))
    rest = _SCHEME_LIKE.sub("", bare, count=1) if _SCHEME_LIKE.match(bare) else bare
    rest = rest.rpartition("@")[2] if "@" in rest.partition("/")[0] else rest
    rest = rest.lstrip("/:")
    scheme = "https" if _looks_public(rest) else "http"
    meant = f"{scheme}://{rest}"
    parts = _split(meant)
    return meant if parts is not None and parts.hostname else EXAMPLE


def _looks_public(rest: str) -> bool:
    host = rest.partition("/")[0]
    return "." in host and ":" not in host and not host.replace(".", "").isdigit()
