"""A server that plays scripted bytes on 127.0.0.1, one script for each request, in order."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Self


class End(Enum):
    """How a script may end a connection; without it the connection stays open for the next request."""

    CLOSE = auto()
    RESET = auto()


Step = bytes | float | asyncio.Event | End


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    connection: int
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class RawServer:
    """Bytes are written, floats are pauses in seconds, events are waited for."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.connections = 0
        self._arrival = asyncio.Condition()
        self._scripts: asyncio.Queue[tuple[Step, ...]] = asyncio.Queue()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def play(self, *steps: Step) -> None:
        """Add the script for the next request that has none."""
        self._scripts.put_nowait(steps)

    async def receive(self, count: int = 1) -> None:
        """Wait until `count` requests have arrived."""
        async with self._arrival:
            await self._arrival.wait_for(lambda: len(self.requests) >= count)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        self.connections += 1
        try:
            await self._serve(self.connections, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _serve(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            request = await _receive(number, reader)
            async with self._arrival:
                self.requests.append(request)
                self._arrival.notify_all()
            for step in await self._scripts.get():
                if step is End.RESET:
                    writer.transport.abort()
                if isinstance(step, End):
                    return
                await _play(step, writer)


async def _receive(number: int, reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(number, method, target, headers, body)


async def _play(step: Step, writer: asyncio.StreamWriter) -> None:
    if isinstance(step, bytes):
        writer.write(step)
        await writer.drain()
    elif isinstance(step, float):
        await asyncio.sleep(step)
    elif isinstance(step, asyncio.Event):
        await step.wait()


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    b"X-Request-Id: req-1\r\nServer: raw\r\n\r\n"
)
STREAM_END = b"0\r\n\r\n"
DONE = b"data: [DONE]\n\n"


def piece(data: bytes) -> bytes:
    """Frame bytes as one HTTP chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(document: Any) -> bytes:
    """Frame a JSON document as one server-sent event."""
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def delta(content: str | None = None, **fields: Any) -> bytes:
    """Return one chat chunk as an event; `finish_reason` goes to the choice, the rest to the delta."""
    reason = fields.pop("finish_reason", None)
    change = fields if content is None else {"content": content, **fields}
    return event({"choices": [{"index": 0, "delta": change, "finish_reason": reason}]})


def usage(prompt: int = 11, completion: int = 2, **more: Any) -> bytes:
    """Return the usage chunk as an event."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return event({"choices": [], "usage": {**counts, **more}})


def streamed(*events: bytes) -> tuple[bytes, ...]:
    """Return the steps of a whole stream, one HTTP chunk for each event."""
    return (STREAM_HEAD, *(piece(data) for data in events), STREAM_END)


def answer(status: int, body: bytes, content_type: str = "application/json", **headers: str) -> bytes:
    """Return a whole answer with a length."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {content_type}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


GOOD = streamed(delta("Hello"), delta(" world"), delta(finish_reason="stop"), usage(), DONE)
