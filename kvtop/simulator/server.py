"""The simulator as a server on 127.0.0.1: one engine, one GPU, any number of connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import h11

from kvtop.simulator.device import GROWING_LIMIT_BYTES, POOL_LIMIT_BYTES, SimulatedGpu
from kvtop.simulator.engine import Engine
from kvtop.simulator.growing import GrowingStorage
from kvtop.simulator.http_connection import BodyTooLargeError, HttpConnection, HttpRequest
from kvtop.simulator.kv_model import SIMULATED_8B
from kvtop.simulator.options import SimulatorOptions
from kvtop.simulator.paged import BLOCK_TOKENS, PagedStorage
from kvtop.simulator.refusal import bad_request
from kvtop.simulator.routes import Routes
from kvtop.simulator.scheduler import Scheduler
from kvtop.simulator.storage import KvStorage

HOST = "127.0.0.1"
_STREAM_BYTES = 1024 * 1024


def build_storage(options: SimulatorOptions) -> KvStorage:
    """Return the KV memory that `options` ask for.

    Raises ValueError when one request of full length would not fit, as it could never be served.
    """
    storage = _storage(options)
    if storage.capacity_tokens < options.context:
        raise ValueError(
            f"a context of {options.context} tokens does not fit into KV memory for "
            f"{storage.capacity_tokens} tokens"
        )
    return storage


def _storage(options: SimulatorOptions) -> KvStorage:
    bytes_per_token = SIMULATED_8B.bytes_per_token
    if options.engine == "growing":
        return GrowingStorage(GROWING_LIMIT_BYTES, bytes_per_token)
    blocks = options.blocks or POOL_LIMIT_BYTES // (BLOCK_TOKENS * bytes_per_token)
    return PagedStorage(blocks, bytes_per_token)


class SimulatorServer:
    """Serves until `stop` is set."""

    def __init__(self, options: SimulatorOptions) -> None:
        storage = build_storage(options)
        self._options = options
        self._engine = Engine(Scheduler(storage, options.max_seqs), options.seed, options.time_scale)
        self._routes = Routes(options, self._engine, SimulatedGpu(self._engine, storage, options.seed))
        self.stop = asyncio.Event()

    async def serve(self, listening: Callable[[int], None]) -> None:
        """Serve, telling `listening` the port first. Raises OSError when the port cannot be had."""
        server = await asyncio.start_server(self._connected, HOST, self._options.port, limit=_STREAM_BYTES)
        listening(server.sockets[0].getsockname()[1])
        async with asyncio.TaskGroup() as group:
            engine = group.create_task(self._engine.run())
            await self.stop.wait()
            engine.cancel()
        server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = HttpConnection(reader, writer)
        try:
            # Cancelled only when the server ends; Python 3.11 would print a traceback for it.
            with suppress(ConnectionError, asyncio.CancelledError):
                await self._talk(connection)
        finally:
            connection.close()

    async def _talk(self, connection: HttpConnection) -> None:
        try:
            while await self._exchange(connection) and connection.start_next():
                pass
        except h11.RemoteProtocolError as error:
            if connection.can_answer:
                await connection.send_json(error.error_status_hint, bad_request(str(error)).body)

    async def _exchange(self, connection: HttpConnection) -> bool:
        try:
            request = await connection.read_request()
        except BodyTooLargeError:
            await connection.send_json(413, {"detail": "Request Entity Too Large"})
            return True
        if request is None:
            return False
        await self._answer(connection, request)
        return True

    async def _answer(self, connection: HttpConnection, request: HttpRequest) -> None:
        answer = asyncio.create_task(self._routes.answer(connection, request))
        gone = asyncio.create_task(connection.closed_by_peer())
        try:
            await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            answer.cancel()
        await asyncio.wait((answer, gone))
        if answer.cancelled():
            raise ConnectionResetError
        await answer
