from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from kvtop.cli.main import run_command_line
from tests.experiments.chat_server import ChatServer


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Kvtop = Callable[..., Ran]


@pytest.fixture
def kvtop(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Kvtop:
    """Runs a command in this process; its base is short, since no test here looks at memory."""
    monkeypatch.setattr("kvtop.experiments.steady.WINDOW_S", 0.05)
    monkeypatch.setattr("kvtop.experiments.steady.LONGEST_WAIT_S", 0.2)

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        code = run_command_line(arguments)
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        return Ran(code, told.out, told.err)

    return run


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running
