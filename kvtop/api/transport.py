"""HTTP clients that do not get in the way of a measurement."""

from __future__ import annotations

import functools
from contextlib import contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING

import httpx

from kvtop import __version__
from kvtop.api.url import is_loopback
from kvtop.model.failure import Failure, KvtopError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Mapping

USER_AGENT = f"kvtop/{__version__}"
CONNECT_TIMEOUT_S = 10.0
"""Longest wait for TCP, and for TLS; half the time for the whole answer where that is shorter."""
KEEPALIVE_S = 300.0
"""How long an idle connection is kept: longer than any cool-down between two cells."""

LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=KEEPALIVE_S)


class Connections:
    """One HTTP client for each request in flight, all with the same TLS context.

    A pool shared by many connections costs time that grows with their cube when they start together
    (encode/httpcore#1035) and would be measured as TTFT; a client of its own for each request does not.
    """

    def __init__(
        self, base_url: str, *headers: Mapping[str, str], verify_tls: bool, timeout_s: float
    ) -> None:
        self._base_url = base_url
        self._headers = httpx.Headers({"User-Agent": USER_AGENT, "Accept-Encoding": "identity"})
        for mapping in headers:
            self._headers.update(checked_headers(mapping))
        self._verify_tls = verify_tls
        # httpcore leaves a socket behind when it is cancelled in a TLS handshake, so its own limit must
        # come before the caller's.
        self._timeout = httpx.Timeout(None, connect=min(CONNECT_TIMEOUT_S, timeout_s / 2))
        self._idle: list[httpx.AsyncClient] = []
        self._all: list[httpx.AsyncClient] = []

    def prepare(self, count: int) -> None:
        """Make clients for `count` requests at once, so that none is made while one is measured.

        Raises KvtopError with code `proxy` or `tls` where the environment's settings are unusable.
        """
        while len(self._all) < count:
            self._idle.append(self._make())

    @contextmanager
    def borrow(self) -> Iterator[httpx.AsyncClient]:
        """Lend a client for one request; the one used last comes first, its connection is the freshest."""
        client = self._idle.pop() if self._idle else self._make()
        try:
            yield client
        finally:
            self._idle.append(client)

    async def close(self) -> None:
        """Close every connection."""
        for client in self._all:
            await client.aclose()
        self._all.clear()
        self._idle.clear()

    def _make(self) -> httpx.AsyncClient:
        try:
            client = httpx.AsyncClient(
                headers=self._headers,
                verify=_tls_context(verify=self._verify_tls),
                limits=LIMITS,
                timeout=self._timeout,
                follow_redirects=False,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                trust_env=not is_loopback(self._base_url),
            )
        except (httpx.InvalidURL, ValueError, ImportError) as error:
            text = f"The proxy settings of the environment are unusable: {error}"
            raise KvtopError(
                Failure.of("proxy", text, "Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY.")
            ) from error
        self._all.append(client)
        return client


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return `headers` if HTTP can carry them. Raises KvtopError with code `bad_header`."""
    for name, value in headers.items():
        printable = value.isascii() and value.isprintable() and value == value.strip()
        if not printable or not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
            text = f"The header {name!r} (or the key in it) holds a character that HTTP cannot carry."
            raise KvtopError(
                Failure.of("bad_header", text, "Look for blanks, line ends or quotes around the key.")
            )
    return dict(headers)


@functools.cache
def _tls_context(*, verify: bool) -> ssl.SSLContext:
    try:
        return httpx.create_ssl_context(verify=verify)
    except OSError as error:
        text = f"The certificates to trust cannot be read: {error}"
        raise KvtopError(Failure.of("tls", text, "Check SSL_CERT_FILE and SSL_CERT_DIR.")) from error
