from __future__ import annotations

import pytest

import kvtop as package
from tests.cli.conftest import Kvtop


def test_kvtop_alone_says_how_to_start(kvtop: Kvtop) -> None:
    ran = kvtop()
    assert (ran.code, ran.out) == (2, "")
    for command in ("kvtop --demo", "kvtop scan --base-url", "kvtop status", "kvtop --help"):
        assert command in ran.err


def test_version(kvtop: Kvtop) -> None:
    ran = kvtop("--version")
    assert (ran.code, ran.out, ran.err) == (0, f"kvtop {package.__version__}\n", "")


@pytest.mark.parametrize(
    "arguments", [("dance",), ("runs",), ("runs", "dance"), ("scan", "--dance"), ("scan", "x")]
)
def test_unknown_words_are_wrong_use_and_name_the_help(kvtop: Kvtop, arguments: tuple[str, ...]) -> None:
    ran = kvtop(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("kvtop: ")
    assert "--help" in ran.err


def test_help_names_all_commands_and_exit_codes(kvtop: Kvtop) -> None:
    ran = kvtop("--help")
    assert ran.code == 0
    for word in ("status", "sample", "scan", "runs", "--demo", "130"):
        assert word in ran.out


FLAGS = (
    "--lengths --repeats --prefix --profile --base-url --model --key-env --dialect --json --yes"
    " --max-total-tokens --max-tokens --temperature --timeout --interval --pid --seed --keep-bodies"
    " --demo --demo-engine"
)


def test_the_help_of_scan_names_every_flag(kvtop: Kvtop) -> None:
    ran = kvtop("scan", "--help")
    assert ran.code == 0
    assert [flag for flag in FLAGS.split() if flag not in ran.out] == []


@pytest.mark.parametrize("command", ["status", "sample", "runs"])
def test_every_command_has_help(kvtop: Kvtop, command: str) -> None:
    assert kvtop(command, "--help").code == 0


def test_demo_may_stand_before_the_command(kvtop: Kvtop) -> None:
    ran = kvtop("--demo", "status", "--json")
    assert ran.code == 0
    assert ran.json["gpu_source"] == "simulated"
