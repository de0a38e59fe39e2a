from collections.abc import AsyncIterator

import pytest_asyncio

from tests.api.raw_server import RawServer


@pytest_asyncio.fixture
async def server() -> AsyncIterator[RawServer]:
    async with RawServer() as running:
        yield running
