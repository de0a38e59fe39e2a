import errno
import socket
import ssl

import httpx
import pytest

from kvtop.api.connection_failures import connection_failure, stalled, timed_out
from kvtop.api.peer import Peer
from kvtop.model.endpoint import Endpoint

PEER = Peer.of(Endpoint("http://h:8000/v1", "tiny"))


def caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


def untrusted() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "self-signed certificate"
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (caused(httpx.ConnectError("x"), socket.gaierror(-2, "unknown")), "dns"),
        (caused(httpx.ConnectError("x"), ConnectionRefusedError(111, "refused")), "refused"),
        (
            caused(
                httpx.ConnectError("x"),
                caused(OSError("all failed"), ExceptionGroup("g", [OSError("v6"), ConnectionRefusedError()])),
            ),
            "refused",
        ),
        (caused(httpx.ConnectError("x"), OSError(errno.ENETUNREACH, "no network")), "unreachable"),
        (caused(httpx.ConnectError("x"), untrusted()), "tls"),
        (caused(httpx.ConnectError("x"), ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong")), "tls"),
        (httpx.ConnectError("something else"), "refused"),
        (httpx.ConnectTimeout("late"), "timeout"),
        (httpx.ProxyError("407 Proxy Authentication Required"), "proxy"),
        (httpx.ReadError(""), "connection_lost"),
        (httpx.RemoteProtocolError("Server disconnected without sending a response."), "connection_lost"),
        (ConnectionResetError(), "connection_lost"),
    ],
)
def test_codes(error: BaseException, code: str) -> None:
    failure = connection_failure(error, PEER)
    assert failure.code == code
    assert "http://h:8000" in failure.text
    assert failure.hint


def test_circular_causes_end() -> None:
    first, second = httpx.ReadError("a"), OSError("b")
    first.__context__, second.__context__ = second, first
    assert connection_failure(first, PEER).code == "connection_lost"


def test_untrusted_certificate_says_why() -> None:
    assert "self-signed" in connection_failure(untrusted(), PEER).text


def test_time_limits() -> None:
    assert "0.5 s" in timed_out(0.5, PEER, begun=True, status=200).text
    assert timed_out(0.5, PEER, begun=False, status=None).code == "timeout"
    assert stalled(120.0, PEER, 200).code == "stalled"
