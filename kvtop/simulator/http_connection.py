"""One HTTP/1.1 connection: requests in, answers out, on asyncio streams with h11 for the protocol."""

from __future__ import annotations

import json
from asyncio import StreamReader, StreamWriter
from dataclasses import dataclass
from typing import Any

import h11

MAX_BODY_BYTES = 32 * 1024 * 1024
_DISCARD_BYTES = 8 * MAX_BODY_BYTES
"""How much of a body that is too large is read and thrown away, so that its sender hears why."""
_AHEAD_BYTES = 1024 * 1024
_READ_BYTES = 256 * 1024
_MARK = ("x-kvtop-simulated", "1")


class BodyTooLargeError(Exception):
    """A request body of more than `MAX_BODY_BYTES`."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request whose body has arrived whole."""

    method: str
    path: str
    body: bytes


class HttpConnection:
    """The server's side of one connection. Every answer says that it is simulated."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._protocol = h11.Connection(h11.SERVER)

    @property
    def can_answer(self) -> bool:
        """Whether the status line of an answer may still be sent."""
        return self._protocol.our_state in (h11.IDLE, h11.SEND_RESPONSE)

    async def read_request(self) -> HttpRequest | None:
        """Return the next request, None when the client has no more.

        Raises h11.RemoteProtocolError for what is not HTTP, BodyTooLargeError, ConnectionError.
        """
        head = await self._next_event()
        if not isinstance(head, h11.Request):
            return None
        path = head.target.decode("ascii", "replace").partition("?")[0]
        return HttpRequest(head.method.decode("ascii"), path, await self._read_body())

    async def closed_by_peer(self) -> None:
        """Return when the client is gone or has sent too much ahead; call it while answering."""
        ahead = 0
        while ahead < _AHEAD_BYTES:
            data = await self._reader.read(_READ_BYTES)
            if not data:
                return
            self._protocol.receive_data(data)
            ahead += len(data)

    async def send_json(self, status: int, document: Any) -> None:
        """Answer with one JSON document."""
        await self.send_body(status, json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))

    async def send_body(self, status: int, body: bytes) -> None:
        """Answer with a whole body, JSON unless empty."""
        headers = [("content-length", str(len(body)))]
        if body:
            headers.append(("content-type", "application/json"))
        if self._protocol.their_state is not h11.DONE:
            headers.append(("connection", "close"))
        self._send(h11.Response(status_code=status, headers=[*headers, _MARK]))
        self._send(h11.Data(data=body))
        await self._end()

    async def start_events(self) -> None:
        """Begin a stream of server-sent events."""
        headers = [("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache")]
        self._send(h11.Response(status_code=200, headers=[*headers, _MARK]))
        await self._writer.drain()

    async def send_event(self, data: str) -> None:
        """Send one event. Raises ConnectionError when the client is gone."""
        self._send(h11.Data(data=f"data: {data}\n\n".encode()))
        await self._writer.drain()

    async def end_events(self) -> None:
        """End the stream."""
        await self._end()

    def start_next(self) -> bool:
        """Make ready for the next request; False when the connection is to be closed."""
        if self._protocol.our_state is not h11.DONE or self._protocol.their_state is not h11.DONE:
            return False
        self._protocol.start_next_cycle()
        return True

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()

    async def _read_body(self) -> bytes:
        body = bytearray()
        size = 0
        while isinstance(event := await self._next_event(), h11.Data):
            size += len(event.data)
            if size <= MAX_BODY_BYTES:
                body += event.data
            elif size > _DISCARD_BYTES:
                break
        if size > MAX_BODY_BYTES:
            raise BodyTooLargeError
        return bytes(body)

    async def _next_event(self) -> h11.Event | None:
        while (event := self._protocol.next_event()) is h11.NEED_DATA:
            if self._protocol.they_are_waiting_for_100_continue:
                self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self._protocol.receive_data(await self._reader.read(_READ_BYTES))
        return event if isinstance(event, h11.Event) else None

    async def _end(self) -> None:
        self._send(h11.EndOfMessage())
        await self._writer.drain()

    def _send(self, event: h11.Event) -> None:
        data = self._protocol.send(event)
        if data:
            self._writer.write(data)
