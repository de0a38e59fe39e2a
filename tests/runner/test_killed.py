"""A runner that is killed, and the run that is finished by another one."""

from __future__ import annotations

import json
import threading
from collections import Counter
from typing import Any

import pytest

from kvtop.cli.main import run_command_line
from kvtop.runs.layout import RunFolder
from kvtop.runs.liveness import effective_state
from kvtop.runs.reader import read_events, read_requests
from tests.experiments.chat_server import ChatServer, Fault, serving
from tests.runner.program import latest, program, scan_arguments


def killed_in_flight(server: ChatServer, chat: int, *more: str) -> RunFolder:
    """Start a scan and kill its runner while the answer to one chat is awaited."""
    release = threading.Event()
    server.faults[chat] = Fault(hold=release)
    with program(*scan_arguments(server.url, *more)) as process:
        server.wait_for(chat)
        process.kill()
        process.wait()
    release.set()
    return latest()


def outline(document: dict[str, Any]) -> list[tuple[Any, ...]]:
    names = ("target_tokens", "prefix", "n", "failed", "prompt_tokens", "cached_tokens")
    return [tuple(point[name] for name in names) for point in document["points"]]


def resumed(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run_command_line(["runs", "resume", "--json", *more]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.usefixtures("quick_base")
def test_a_killed_run_loses_the_request_in_flight_and_is_finished_by_a_resume(
    server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = killed_in_flight(server, 6, "--prefix", "both")
    assert effective_state(folder) == "interrupted"
    assert [record.id for record in read_requests(folder).records] == [f"{n:05d}" for n in range(1, 6)]

    document = resumed(capsys)
    records = read_requests(folder).records
    ids = [record.id for record in records]
    assert len(ids) == len(set(ids))
    assert "00006" not in ids
    assert len({chat.prompt for chat in server.chats}) == len(server.chats)
    measured = Counter(record.cell for record in records if record.tag in ("cold", "reused"))
    assert set(measured.values()) == {1}
    assert effective_state(folder) == "done"

    with serving() as undisturbed:
        assert run_command_line(scan_arguments(undisturbed.url, "--prefix", "both", "--json")) == 0
    expected = json.loads(capsys.readouterr().out)
    assert [row[:4] for row in outline(document)] == [row[:4] for row in outline(expected)]
    assert all(abs(a[4] - b[4]) <= 2 for a, b in zip(outline(document), outline(expected), strict=True))
    assert [row[5] for row in outline(document) if row[1] == "cold"] == [0, 0]


@pytest.mark.usefixtures("quick_base")
def test_a_run_killed_in_its_calibration_is_finished_too(
    server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = killed_in_flight(server, 2)
    document = resumed(capsys)
    assert [(point["n"], point["failed"]) for point in document["points"]] == [(2, 0), (2, 0)]
    assert [record.id for record in read_requests(folder).records][1] == "00003"


@pytest.mark.usefixtures("quick_base")
def test_a_resume_of_a_finished_run_sends_nothing(
    server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(scan_arguments(server.url, "--json")) == 0
    sent, events = len(server.chats), len(read_events(latest()).events)
    document = resumed(capsys)
    assert [point["n"] for point in document["points"]] == [2, 2]
    assert len(server.chats) == sent
    assert len(read_events(latest()).events) == events


@pytest.mark.usefixtures("quick_base")
def test_a_run_that_its_budget_ended_goes_on_with_a_larger_one(
    server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(scan_arguments(server.url, "--max-total-tokens", "2400", "--json")) == 1
    assert json.loads(capsys.readouterr().out)["state"] == "cancelled"
    assert run_command_line(["runs", "resume", "--json"]) == 2
    assert server.tokens_spent <= 2400
    document = resumed(capsys, "--max-total-tokens", "20000")
    assert [point["n"] for point in document["points"]] == [2, 2]


@pytest.mark.usefixtures("quick_base")
def test_a_live_run_is_not_resumed_and_can_be_followed_and_cancelled(
    server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    release = threading.Event()
    server.faults[5] = Fault(hold=release)
    with program(*scan_arguments(server.url)) as process:
        server.wait_for(5)
        assert run_command_line(["runs", "resume"]) == 2
        assert "is going on in process" in capsys.readouterr().err
        assert run_command_line(["runs", "list"]) == 0
        assert "running" in capsys.readouterr().out
        with program("runs", "follow", "--json") as follower:
            assert follower.stdout is not None
            lines = iter(follower.stdout.readline, "")
            seen = [next(lines)]
            while '"request"' not in seen[-1]:
                seen.append(next(lines))
            assert run_command_line(["runs", "cancel"]) == 0
            rest = [json.loads(line) for line in lines]
            assert follower.wait(30) == 1
        assert process.wait(30) == 130
    release.set()
    assert json.loads(seen[0])["type"] == "started"
    assert (rest[-1]["type"], rest[-1]["state"]) == ("finished", "cancelled")
    assert run_command_line(["runs", "cancel"]) == 2
