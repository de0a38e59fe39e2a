"""What a scan and a resume refuse or leave out before anything is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvtop.cli.before_sending import listed
from kvtop.runs.reader import read_events
from tests.cli.conftest import Kvtop
from tests.experiments.chat_server import MODEL, ChatServer, serving
from tests.runner.program import latest, runs_root, scan_arguments


def profile(home: Path, url: str, *lines: str) -> None:
    path = home / ".config/kvtop/profiles/lab.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([f'base_url = "{url}"', f'model = "{MODEL}"', *lines]))


def scan_of_profile(*more: str) -> list[str]:
    return ["scan", "--profile", "lab", "--repeats", "1", "--max-tokens", "4", *more]


def over_context() -> list[int]:
    notes = [event.data for event in read_events(latest()).events if event.type == "note"]
    return [note["target_tokens"] for note in notes if note["code"] == "over_context"]


def test_lengths_above_the_profiles_window_are_told_not_counted_and_not_sent(
    kvtop: Kvtop, home: Path, server: ChatServer
) -> None:
    profile(home, server.url, "context_window = 800")
    ran = kvtop(*scan_of_profile("--lengths", "400,2k,3k", "--json"))
    assert ran.code == 0
    assert "2k and 3k tokens are not sent: the profile's context_window is 800 tokens." in ran.err
    assert "This run sends 3 requests" in ran.err
    assert [(point["n"], point["failed"]) for point in ran.json["points"]] == [(1, 0), (0, 0), (0, 0)]
    assert len(server.chats) == 3
    assert over_context() == [2048, 3072]


def test_a_window_that_no_length_fits_into_is_refused(kvtop: Kvtop, home: Path, server: ChatServer) -> None:
    profile(home, server.url, "context_window = 800")
    ran = kvtop(*scan_of_profile("--lengths", "2k,3k"))
    assert (ran.code, ran.out) == (2, "")
    assert "No length fits into the profile's context_window of 800 tokens" in ran.err
    assert not runs_root().exists()


def test_a_price_on_loopback_is_told_and_not_asked_about(
    kvtop: Kvtop, home: Path, server: ChatServer
) -> None:
    profile(home, server.url, "[price]", 'currency = "EUR"', "input = 2.0", "output = 8.0")
    ran = kvtop(*scan_of_profile("--lengths", "400"))
    assert ran.code == 0
    assert "about EUR 0.01" in ran.err


def test_after_a_refusal_that_names_a_limit_longer_lengths_are_not_sent_nor_resumed(kvtop: Kvtop) -> None:
    with serving(context_tokens=700) as server:
        arguments = scan_arguments(server.url, "--lengths", "400,800,1200", "--json")
        ran = kvtop(*arguments)
        assert ran.code == 1
        assert [(p["n"], p["failed"], p["failures"]) for p in ran.json["points"]] == [
            (2, 0, []),
            (0, 1, ["context_length"]),
            (0, 0, []),
        ]
        sent = len(server.chats)
        resumed = kvtop("runs", "resume", "--json")
        assert len(server.chats) == sent
    assert over_context() == [800, 1200]
    assert resumed.code == 0
    assert "Nothing is missing in" in resumed.err
    assert "800 and 1,200 tokens do not fit" in resumed.err
    assert "With a larger context on the server, start a new scan." in resumed.err


def test_a_resume_announces_only_what_is_missing(kvtop: Kvtop, server: ChatServer) -> None:
    assert kvtop(*scan_arguments(server.url, "--max-total-tokens", "2500")).code == 1
    ran = kvtop("runs", "resume", "--max-total-tokens", "20k", "--timeout", "7s", "--json")
    assert ran.code == 0
    assert "This run sends 1 request, at most 808 prompt and 4 completion tokens" in ran.err
    assert "timeout_s = 7.0" in latest().run_toml.read_text()
    assert [point["n"] for point in ran.json["points"]] == [2, 2]


def test_a_resume_with_a_budget_that_is_spent_is_refused(kvtop: Kvtop, server: ChatServer) -> None:
    assert kvtop(*scan_arguments(server.url, "--max-total-tokens", "2500")).code == 1
    sent = len(server.chats)
    ran = kvtop("runs", "resume", "--max-total-tokens", "2600")
    assert (ran.code, ran.out) == (2, "")
    assert "already spent" in ran.err
    assert len(server.chats) == sent


@pytest.mark.parametrize("budget", ["1", "1000", "1108"])
def test_a_budget_below_the_first_requests_is_refused(kvtop: Kvtop, server: ChatServer, budget: str) -> None:
    ran = kvtop(*scan_arguments(server.url, "--max-total-tokens", budget))
    assert (ran.code, ran.out) == (2, "")
    assert "together with the calibration at least 1,109" in ran.err
    assert "--max-total-tokens" in ran.err
    assert not runs_root().exists()
    assert server.chats == []


@pytest.mark.parametrize(
    "plan", [("--repeats", "999999999"), ("--repeats", "1001", "--lengths", "1,2,3,4,5", "--prefix", "both")]
)
def test_a_plan_of_too_many_requests_is_refused(kvtop: Kvtop, plan: tuple[str, ...]) -> None:
    ran = kvtop("scan", "--base-url", "http://127.0.0.1:1", "--model", "m", *plan)
    assert (ran.code, ran.out) == (2, "")
    assert "a run has at most 10,000" in ran.err


def test_a_kept_plan_of_too_many_requests_is_refused(kvtop: Kvtop, server: ChatServer) -> None:
    assert kvtop(*scan_arguments(server.url)).code == 0
    run_toml = latest().run_toml
    run_toml.write_text(run_toml.read_text().replace("repeats = 2", "repeats = 999999999"))
    for action in (("show", "--recompute"), ("resume",)):
        ran = kvtop("runs", *action)
        assert (ran.code, ran.out) == (2, "")
        assert "a run has at most 10,000" in ran.err


def test_a_pid_that_is_none_is_refused(kvtop: Kvtop, server: ChatServer) -> None:
    for arguments in (scan_arguments(server.url), ["scan", "--demo"], ["runs", "resume"]):
        ran = kvtop(*arguments, "--pid", "4194304")
        assert (ran.code, ran.out) == (2, "")
        assert "There is no process 4194304" in ran.err
    assert server.chats == []


def test_a_model_that_the_server_does_not_list_is_warned_of(kvtop: Kvtop, server: ChatServer) -> None:
    arguments = ["other" if word == "counted-1b" else word for word in scan_arguments(server.url)]
    ran = kvtop(*arguments)
    assert ran.code == 0
    assert "  warning: other is not among the server's models (counted-1b)" in ran.err


def test_numbers_beyond_all_bounds(kvtop: Kvtop) -> None:
    for flag in ("--lengths", "--max-total-tokens"):
        ran = kvtop("scan", "--demo", flag, "9" * 400)
        assert (ran.code, ran.out) == (2, "")
        assert "beyond all bounds" in ran.err


def test_lengths_in_a_sentence() -> None:
    assert listed([8192]) == "8k tokens"
    assert listed([8192, 1048576, 1500]) == "8k, 1M and 1,500 tokens"
