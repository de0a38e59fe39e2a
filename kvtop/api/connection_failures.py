"""Failures out of broken connections: what was refused, unknown, untrusted, lost or late."""

from __future__ import annotations

import errno
import socket
import ssl
from typing import TYPE_CHECKING

import httpx

from kvtop.model.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvtop.api.peer import Peer

_UNREACHABLE = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN}
_MAX_CAUSES = 32
LOST = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError, httpx.CloseError)
"""What a connection that the other side has closed raises."""


def connection_failure(error: BaseException, peer: Peer) -> Failure:
    """Return the failure that an exception of the HTTP client or of a socket is."""
    causes = list(_causes(error))
    if isinstance(error, httpx.TimeoutException):
        return _no_connection_in_time(peer)
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return _of("dns", peer, "has no address", "Check the host name in base_url, and the network.")
    tls = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
    if tls is not None:
        return _tls(tls, peer)
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return _of("refused", peer, "refused the connection", "Is the server started, and is the port right?")
    return _lost(error, causes, peer)


def timed_out(timeout_s: float, peer: Peer, *, begun: bool, status: int | None) -> Failure:
    """Return the failure of a request that was not over after `timeout_s`."""
    what = "did not finish its answer" if begun else "did not begin to answer"
    hint = "Give it more time with --timeout, or ask for a shorter prompt or answer."
    return Failure.of("timeout", f"{peer.where} {what} within {timeout_s:g} s.", hint, status=status)


def stalled(silence_s: float, peer: Peer, status: int | None) -> Failure:
    """Return the failure of a stream that fell silent in the middle of its text."""
    text = f"{peer.where} stopped in the middle of its answer: nothing came for {silence_s:g} s."
    hint = "The engine may hang, or have preempted the request; see its log."
    return Failure.of("stalled", text, hint, status=status)


def _causes(error: BaseException) -> Iterator[BaseException]:
    waiting = [error]
    seen: set[int] = set()
    while waiting and len(seen) < _MAX_CAUSES:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting.extend(cause for cause in (current.__cause__, current.__context__) if cause is not None)
        if isinstance(current, BaseExceptionGroup):
            waiting.extend(current.exceptions)


def _of(code: str, peer: Peer, what: str, hint: str) -> Failure:
    return Failure.of(code, f"{peer.where} {what}.", hint)


def _no_connection_in_time(peer: Peer) -> Failure:
    hint = "Check host, port and firewall"
    hint += ", and whether base_url must begin with http://" if peer.where.startswith("https:") else "."
    return _of("timeout", peer, "did not accept a connection in time", hint)


def _tls(error: ssl.SSLError, peer: Peer) -> Failure:
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = getattr(error, "verify_message", "") or str(error)
        hint = "Trust its CA with SSL_CERT_FILE, or accept the risk with verify_tls = false."
        return _of("tls", peer, f"shows a certificate that is not trusted: {reason}", hint)
    return _of("tls", peer, f"cannot be spoken to by TLS: {error}", "Must base_url begin with http:// ?")


def _lost(error: BaseException, causes: list[BaseException], peer: Peer) -> Failure:
    numbers = {cause.errno for cause in causes if isinstance(cause, OSError)}
    if numbers & _UNREACHABLE:
        return _of("unreachable", peer, "cannot be reached from here", "Check the network, VPN and proxy.")
    if isinstance(error, httpx.ProxyError):
        said = peer.clean(str(error))
        return _of("proxy", peer, f"is behind a proxy that failed: {said}", "Check HTTPS_PROXY and NO_PROXY.")
    if isinstance(error, httpx.ConnectError):
        return _of("refused", peer, f"gave no connection: {peer.clean(str(error))}", "Check host and port.")
    said = peer.clean(str(error)) or type(error).__name__
    return _of(
        "connection_lost", peer, f"broke the connection: {said}", "See the server's log: did it crash?"
    )
