"""The instants of one request that only the HTTP library knows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

_CONNECTED = ("connect_tcp.complete", "start_tls.complete")


class RequestClock:
    """Follows one request by httpcore's trace. Instants are `perf_counter_ns`, None until they come.

    Through a proxy the trace also tells of the CONNECT request; the last telling counts.
    """

    def __init__(self) -> None:
        self.begun_ts = time.time()
        self.begun_ns = time.perf_counter_ns()
        self.sent_ts: float | None = None
        self.sent_ns: int | None = None
        self.headers_ns: int | None = None
        self._connecting_ns: int | None = None
        self._connected_ns: int | None = None

    async def trace(self, event: str, _info: Mapping[str, Any]) -> None:
        """Take the instant of one httpcore event."""
        step = event.partition(".")[2]
        if step == "send_request_headers.started":
            self.sent_ts = time.time()
            self.sent_ns = time.perf_counter_ns()
        elif step == "receive_response_headers.complete":
            self.headers_ns = time.perf_counter_ns()
        elif step == "connect_tcp.started":
            self._connecting_ns = time.perf_counter_ns()
        elif step in _CONNECTED:
            self._connected_ns = time.perf_counter_ns()

    @property
    def is_kept_connection(self) -> bool:
        """Whether the request went over a connection that an earlier one had left open."""
        return self.sent_ns is not None and self._connecting_ns is None

    @property
    def connect_s(self) -> float | None:
        """TCP and TLS set-up in seconds, None on a kept connection."""
        if self._connecting_ns is None or self._connected_ns is None:
            return None
        return (self._connected_ns - self._connecting_ns) / 1e9

    def since_sent(self, at_ns: int | None) -> float | None:
        """Return the seconds from the sending to `at_ns`, None where one of them is unknown."""
        if at_ns is None or self.sent_ns is None:
            return None
        return (at_ns - self.sent_ns) / 1e9

    def wall_ts(self, at_ns: int) -> float:
        """Return the Unix time of `at_ns` by the wall clock of the sending, or of the beginning."""
        if self.sent_ts is None or self.sent_ns is None:
            return self.begun_ts + (at_ns - self.begun_ns) / 1e9
        return self.sent_ts + (at_ns - self.sent_ns) / 1e9
