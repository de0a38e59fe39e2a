from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import httpx
import pytest

from kvtop.simulator.process import SimulatorProcess, start_simulator
from tests.simulator.simulator_client import SimulatorClient

_PROMPTS = count()


@pytest.fixture(scope="module")
def shared_paged() -> Iterator[SimulatorProcess]:
    with start_simulator("paged", time_scale=20) as process:
        yield process


@pytest.fixture
def paged(shared_paged: SimulatorProcess) -> Iterator[SimulatorClient]:
    with httpx.Client(base_url=shared_paged.base_url, timeout=20) as http:
        yield SimulatorClient(http)


@pytest.fixture
def growing() -> Iterator[SimulatorClient]:
    with (
        start_simulator("growing", time_scale=20) as process,
        httpx.Client(base_url=process.base_url, timeout=20) as http,
    ):
        yield SimulatorClient(http)


@pytest.fixture
def fresh_word() -> str:
    """A word that no other test of this module has sent, so that its prompt shares no prefix."""
    return f"fresh{next(_PROMPTS)}"
