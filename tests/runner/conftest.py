from collections.abc import Iterator

import pytest

from kvtop.simulator.process import SimulatorProcess, start_simulator
from tests.experiments.chat_server import ChatServer


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


@pytest.fixture
def quick_base(monkeypatch: pytest.MonkeyPatch) -> None:
    """A base of a twentieth of a second, for tests that do not look at memory."""
    monkeypatch.setattr("kvtop.experiments.steady.WINDOW_S", 0.05)
    monkeypatch.setattr("kvtop.experiments.steady.LONGEST_WAIT_S", 0.2)


@pytest.fixture(scope="module")
def simulator() -> Iterator[SimulatorProcess]:
    """A growing engine on which twenty seconds pass in one."""
    with start_simulator("growing", time_scale=20) as process:
        yield process
