from collections.abc import Iterator

import pytest

from tests.experiments.chat_server import ChatServer


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running
