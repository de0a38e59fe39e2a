"""What can be wrong before and during a scan: a clear line, the right exit code, nothing lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvtop.runs.reader import read_requests
from tests.cli.conftest import Kvtop
from tests.experiments.chat_server import (
    CUT,
    HTML,
    NO_CHOICES,
    UNAUTHORIZED,
    ChatServer,
    Fault,
    serving,
    too_many,
)
from tests.runner.program import latest, runs_root, scan_arguments


@pytest.mark.parametrize("lengths", ["0", "-1", "4kk", "", ",", "4k,-1", "1.5", "k", "4 k b", "1e3", "٤k x"])
def test_lengths_that_are_none(kvtop: Kvtop, lengths: str) -> None:
    ran = kvtop("scan", "--base-url", "http://127.0.0.1:1", "--lengths", lengths)
    assert (ran.code, ran.out) == (2, "")
    assert "--lengths" in ran.err
    assert not runs_root().exists()


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--repeats", "0"),
        ("--repeats", "two"),
        ("--max-tokens", "0"),
        ("--timeout", "0s"),
        ("--interval", "fast"),
        ("--temperature", "nan"),
        ("--seed", "x"),
        ("--prefix", "warm"),
        ("--dialect", "gopher"),
        ("--max-total-tokens", "-5"),
        ("--pid", "0"),
    ],
)
def test_values_that_a_flag_does_not_take(kvtop: Kvtop, flag: str, value: str) -> None:
    ran = kvtop("scan", "--base-url", "http://127.0.0.1:1", flag, value)
    assert (ran.code, ran.out) == (2, "")
    assert flag in ran.err


def test_no_endpoint_at_all(kvtop: Kvtop) -> None:
    ran = kvtop("scan")
    assert (ran.code, ran.out) == (2, "")
    assert "neither --profile nor --base-url" in ran.err
    assert "--demo" in ran.err


def test_an_unknown_profile_names_the_nearest(kvtop: Kvtop) -> None:
    ran = kvtop("scan", "--profile", "local-vlm")
    assert ran.code == 2
    assert "Did you mean local-vllm?" in ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--profile", "openai", "--base-url", "http://127.0.0.1:1"), "contradict"),
        (("--demo", "--base-url", "http://127.0.0.1:1"), "contradicts"),
        (("--demo", "--profile", "openai"), "contradicts"),
        (("--profile", "local-vllm", "--key-env", "K"), "a profile names its own key"),
    ],
)
def test_contradictions(kvtop: Kvtop, arguments: tuple[str, ...], words: str) -> None:
    ran = kvtop("scan", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


def test_a_key_that_is_not_there(kvtop: Kvtop) -> None:
    ran = kvtop("scan", "--base-url", "http://127.0.0.1:1", "--model", "m", "--key-env", "LAB_KEY")
    assert ran.code == 2
    assert "LAB_KEY is not set" in ran.err
    assert "export LAB_KEY=" in ran.err


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:8000", "ftp://127.0.0.1", "http://127.0.0.1/a b", "http://", "http://u:p@127.0.0.1", "x"],
)
def test_urls_that_are_none(kvtop: Kvtop, url: str) -> None:
    ran = kvtop("scan", "--base-url", url, "--model", "m")
    assert (ran.code, ran.out) == (2, "")
    assert "--base-url" in ran.err
    assert not runs_root().exists()


@pytest.mark.parametrize("dialect", ["openai-responses", "anthropic-messages"])
def test_a_dialect_that_cannot_be_measured_yet(kvtop: Kvtop, dialect: str) -> None:
    ran = kvtop("scan", "--base-url", "http://127.0.0.1:1", "--model", "m", "--dialect", dialect)
    assert ran.code == 2
    assert dialect in ran.err
    assert not runs_root().exists()


@pytest.mark.parametrize("model", [(), ("--model", "m")])
def test_nobody_listens(kvtop: Kvtop, model: tuple[str, ...]) -> None:
    with serving() as server:
        url = server.url
    ran = kvtop("scan", "--base-url", url, *model)
    assert ran.code == 3
    assert "refused the connection" in ran.err
    assert "Is the server started" in ran.err


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (UNAUTHORIZED, "refused the key"),
        (HTML, "not an OpenAI chat completion"),
        (NO_CHOICES, "not an OpenAI chat completion"),
        (CUT, "part of the answer is missing"),
    ],
)
def test_an_endpoint_that_cannot_be_measured(
    kvtop: Kvtop, server: ChatServer, fault: Fault, words: str
) -> None:
    server.fault = fault
    ran = kvtop(*scan_arguments(server.url, "--json"))
    assert ran.code == 3
    assert words in ran.err
    assert ran.json["schema"] == "kvtop.scan/1"
    assert ran.json["state"] == "failed"


def test_an_answer_that_is_cut_in_the_middle_of_a_run(kvtop: Kvtop, server: ChatServer) -> None:
    server.faults[4] = CUT
    ran = kvtop(*scan_arguments(server.url, "--json"))
    assert ran.code == 1
    assert "truncated" in ran.err
    assert [(point["n"], point["failed"]) for point in ran.json["points"]] == [(1, 1), (2, 0)]


def test_a_429_is_waited_for_counted_once_and_kept(kvtop: Kvtop, server: ChatServer) -> None:
    server.faults[4] = too_many("0.5")
    ran = kvtop(*scan_arguments(server.url, "--json"))
    assert ran.code == 0
    assert "Trying again" in ran.err
    assert [(point["n"], point["failed"]) for point in ran.json["points"]] == [(2, 0), (2, 0)]
    codes = [r.failure.code if r.failure else None for r in read_requests(latest()).records]
    assert codes == [None, None, None, "rate_limited", None, None, None]


def test_a_length_above_the_context(kvtop: Kvtop) -> None:
    with serving(context_tokens=700) as server:
        ran = kvtop(*scan_arguments(server.url, "--json"))
    assert ran.code == 1
    assert "the server's limit is 700 tokens" in ran.err
    assert [(point["n"], point["failed"]) for point in ran.json["points"]] == [(2, 0), (0, 1)]


def test_a_folder_below_a_file(
    kvtop: Kvtop, server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KVTOP_RUNS_DIR", str(tmp_path / "file/runs"))
    ran = kvtop(*scan_arguments(server.url))
    assert (ran.code, ran.out) == (2, "")
    assert "Cannot write" in ran.err
    assert "Choose another folder" in ran.err
    assert server.chats == []


REMOTE = ("scan", "--base-url", "http://192.0.2.1:9", "--model", "m", "--lengths", "4k")


def test_a_remote_endpoint_without_a_terminal_wants_a_yes(kvtop: Kvtop) -> None:
    ran = kvtop(*REMOTE)
    assert (ran.code, ran.out) == (2, "")
    assert "at most 14,459 prompt and 320 completion tokens" in ran.err
    assert "nobody can be asked here" in ran.err
    assert "--yes" in ran.err
    assert not runs_root().exists()


def test_a_loopback_endpoint_is_measured_without_a_question(kvtop: Kvtop, server: ChatServer) -> None:
    ran = kvtop(*scan_arguments(server.url))
    assert ran.code == 0
    assert "This run sends 6 requests" in ran.err


def test_a_host_without_a_gpu_is_told_and_measured(kvtop: Kvtop, server: ChatServer) -> None:
    ran = kvtop(*scan_arguments(server.url, "--json"))
    assert ran.code == 0
    assert [point["n"] for point in ran.json["points"]] == [2, 2]


CONFIG = 'profile = "openai"\n\n[scan]\nlenghts = ["4k"]\n'


@pytest.mark.parametrize(
    "command", [("scan", "--demo"), ("runs", "list"), ("sample", "--demo", "--out", "-")]
)
def test_a_config_with_an_unknown_key(kvtop: Kvtop, home: Path, command: tuple[str, ...]) -> None:
    config = home / ".config/kvtop/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(CONFIG)
    ran = kvtop(*command)
    assert (ran.code, ran.out) == (2, "")
    for word in (f"{config}:4", "lenghts", "lengths"):
        assert word in ran.err


def test_the_model_is_asked_for_where_the_server_has_only_one(kvtop: Kvtop, server: ChatServer) -> None:
    arguments = [
        word for word in scan_arguments(server.url, "--json") if word not in ("--model", "counted-1b")
    ]
    ran = kvtop(*arguments)
    assert ran.code == 0
    assert ran.json["run"].endswith("-scan-counted-1b")


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        (Fault(200, json.dumps({"data": [{"id": "a"}, {"id": "b"}]}).encode()), 2, "the server has a, b"),
        (Fault(200, b'{"data": []}'), 2, "No --model given"),
        (HTML, 2, "does not tell its models"),
        (UNAUTHORIZED, 3, "refused the key"),
    ],
)
def test_the_model_cannot_be_guessed(
    kvtop: Kvtop, server: ChatServer, fault: Fault, code: int, words: str
) -> None:
    server.models_fault = fault
    ran = kvtop("scan", "--base-url", server.url)
    assert ran.code == code
    assert words in ran.err
