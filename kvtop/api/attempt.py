"""One measured request: sent, read to its end or to its failure, never raising for what the server does."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import httpx

from kvtop.api.answer import Answer
from kvtop.api.clock import RequestClock
from kvtop.api.connection_failures import LOST, connection_failure, stalled, timed_out
from kvtop.api.failures import (
    in_stream_error,
    oversized,
    packed,
    redirected,
    refusal,
    truncated,
    unexpected_answer,
)
from kvtop.api.foreign_json import parse_json
from kvtop.api.http_body import MAX_BODY_BYTES, encoding_of, read_body
from kvtop.api.sse import MAX_EVENT_BYTES, SseSplitter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvtop.api.dialect import Dialect, Piece
    from kvtop.api.peer import Peer
    from kvtop.api.sse import SseEvent
    from kvtop.model.failure import Failure

TAIL_S = 5.0
"""How long usage and the end mark are waited for after the finish reason."""
DRAIN_S = 1.0
"""How long the end of the body is waited for after the end mark, so that the connection can be kept."""
_HEAD_BYTES = 4096
_REARM_SHARE = 0.05
"""Moving the alarm for every chunk costs more than an alarm that rings this share of the silence early."""


class Attempt:
    """Sends one request once. After `run` it holds the answer or the failure."""

    def __init__(self, dialect: Dialect, peer: Peer, *, timeout_s: float, stall_s: float) -> None:
        self.clock = RequestClock()
        self.answer = Answer()
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.failure: Failure | None = None
        self.notes: tuple[str, ...] = ()
        self.is_stale = False
        """Whether a kept connection turned out to be closed before any byte came back."""
        self._dialect = dialect
        self._peer = peer
        self._timeout_s = timeout_s
        self._stall_s = stall_s
        self._deadline = self._due = 0.0
        self._silence_allowed_s = stall_s
        self._is_stream = False
        self._head = b""

    async def run(self, http: httpx.AsyncClient, request: httpx.Request, deadline: float) -> None:
        """Send `request` and read the answer until `deadline` (event loop time) at most."""
        self._deadline = self._due = deadline
        request.extensions = {**request.extensions, "trace": self.clock.trace}
        try:
            async with asyncio.timeout_at(deadline) as watchdog:
                await self._send(http, request, watchdog)
        except TimeoutError:
            self._be_late()
        except (httpx.HTTPError, OSError) as error:
            self._break(error)

    async def _send(self, http: httpx.AsyncClient, request: httpx.Request, watchdog: asyncio.Timeout) -> None:
        response = await http.send(request, stream=True)
        try:
            self.status = response.status_code
            self.headers = response.headers
            await self._read(response, watchdog)
        finally:
            await response.aclose()

    async def _read(self, response: httpx.Response, watchdog: asyncio.Timeout) -> None:
        status = response.status_code
        if 300 <= status < 400:
            location = response.headers.get("location", "")
            self.failure = redirected(status, location, str(response.url), self._peer)
        elif status >= 400:
            body, _ = await read_body(response, MAX_BODY_BYTES)
            self.answer.done_ns = time.perf_counter_ns()
            self.failure = refusal(status, response.headers, body, self._peer)
        elif encoding := encoding_of(response):
            self.failure = packed(status, encoding, self._peer)
        else:
            await self._read_success(response, watchdog)

    async def _read_success(self, response: httpx.Response, watchdog: asyncio.Timeout) -> None:
        self._is_stream = "event-stream" in response.headers.get("content-type", "").lower()
        splitter = SseSplitter()
        whole: bytearray | None = None
        async for chunk in response.aiter_bytes():
            at_ns = time.perf_counter_ns()
            if not self._head and not self._is_stream:
                chunk = chunk.lstrip()  # blank lines before a body are keep-alives
                whole = bytearray() if chunk[:1] in (b"{", b"[", b"<") else None
            self._head = self._head or chunk[:_HEAD_BYTES]
            if whole is None:
                self._take_events(splitter.feed(chunk), at_ns, overflowed=splitter.overflowed)
            else:
                whole += chunk
                self._bound(len(whole))
            if self.failure is not None:
                return
            self._rearm(watchdog)
        self._finish(splitter, whole, time.perf_counter_ns())

    def _bound(self, size: int) -> None:
        if size > MAX_BODY_BYTES:
            self.failure = oversized(self.status, MAX_BODY_BYTES)

    def _take_events(self, events: list[SseEvent], at_ns: int, *, overflowed: bool) -> None:
        for event in events:
            if self.answer.done_ns is None and self.failure is None:
                self._take(self._dialect.read_event(event), at_ns)
        if overflowed and self.failure is None and not self.answer.has_ended:
            self.failure = oversized(self.status, MAX_EVENT_BYTES)

    def _take(self, piece: Piece, at_ns: int) -> None:
        self.answer.take(piece, at_ns)
        if piece.error is not None:
            self.failure = in_stream_error(piece.error, self.status, self._peer)

    def _finish(self, splitter: SseSplitter, whole: bytearray | None, at_ns: int) -> None:
        if whole is not None:
            self._take_whole(bytes(whole), at_ns)
        else:
            self._take_events(splitter.finish(), at_ns, overflowed=splitter.overflowed)
        if self.failure is None:
            self._conclude()

    def _take_whole(self, body: bytes, at_ns: int) -> None:
        piece = self._dialect.read_answer(parse_json(body))
        if piece.error is not None or not piece.recognised:
            self.failure = unexpected_answer(self.status or 200, body, self._peer)
        else:
            self.answer.take_whole(piece, at_ns)

    def _conclude(self) -> None:
        """Judge an answer whose body has ended."""
        saw_something_else = not self._is_stream or self.answer.first_event_ns is not None
        if not self.answer.is_recognised and saw_something_else:
            self.failure = unexpected_answer(self.status or 200, self._head, self._peer)
        elif not self.answer.has_ended:
            self.failure = truncated(self.status)
        elif self.answer.finish_reason == "error":
            self.failure = in_stream_error("finish_reason: error", self.status, self._peer)

    def _rearm(self, watchdog: asyncio.Timeout) -> None:
        """Bound the silence after this chunk: by stalling in the text, by the tail after its end."""
        if self.answer.done_ns is not None:
            self._silence_allowed_s = DRAIN_S
        elif self.answer.finish_ns is not None:
            self._silence_allowed_s = TAIL_S
        elif self.answer.first_text_ns is not None:
            self._silence_allowed_s = self._stall_s
        else:
            return
        due = min(self._deadline, asyncio.get_running_loop().time() + self._silence_allowed_s)
        if not 0 <= due - self._due < _REARM_SHARE * self._silence_allowed_s:
            self._due = due
            watchdog.reschedule(due)

    def _be_late(self) -> None:
        if self.failure is not None:
            return
        if self.answer.has_ended:
            self._end_early("left_open")
        elif self._due >= self._deadline:
            begun = self.answer.first_event_ns is not None
            self.failure = timed_out(self._timeout_s, self._peer, begun=begun, status=self.status)
        else:
            self.failure = stalled(self._silence_allowed_s, self._peer, self.status)

    def _break(self, error: Exception) -> None:
        if self.failure is not None:
            return
        if self.answer.has_ended:
            self._end_early("closed_early")
            return
        self.is_stale = (
            isinstance(error, LOST) and self.clock.is_kept_connection and self.clock.headers_ns is None
        )
        if isinstance(error, httpx.RemoteProtocolError) and self.status is not None:
            self.failure = truncated(self.status)
        else:
            self.failure = connection_failure(error, self._peer)

    def _end_early(self, note: str) -> None:
        self.notes = (note,)
        self._conclude()
