from __future__ import annotations

from pathlib import Path

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


@pytest.mark.parametrize(
    ("arguments", "flag", "command"),
    [
        (("scan", "--lenghts", "4k"), "--lengths", "kvtop scan"),
        (("runs", "resume", "--max-total-token=4k", "--pidd", "3"), "--pid", "kvtop runs resume"),
        (("--demoo",), "--demo", "kvtop"),
        (("status", "--jsno"), "--json", "kvtop status"),
    ],
)
def test_an_unknown_flag_names_the_nearest_and_its_commands_help(
    kvtop: Kvtop, arguments: tuple[str, ...], flag: str, command: str
) -> None:
    ran = kvtop(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert f"did you mean {flag}?" in ran.err
    assert f"Try '{command} --help'." in ran.err


def test_descriptions_keep_their_capitals(kvtop: Kvtop) -> None:
    assert "One reading of the GPUs and" in kvtop("status", "--help").out
    assert "The memory sampler alone, into a CSV." in kvtop("sample", "--help").out


def test_the_default_of_run_is_told(kvtop: Kvtop) -> None:
    assert "`latest`, the default" in " ".join(kvtop("runs", "show", "--help").out.split())


def test_json_alone_is_no_command(kvtop: Kvtop) -> None:
    ran = kvtop("--json")
    assert (ran.code, ran.out) == (2, "")
    assert "--demo" in ran.err


def test_a_variable_that_is_no_setting_is_warned_of_once(
    kvtop: Kvtop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVTOP_SCAN_LENGHTS", "4k")
    monkeypatch.setenv("KVTOP_RUNS_DIR", "/tmp")
    ran = kvtop("config", "show")
    assert ran.code == 0
    (line,) = ran.err.splitlines()
    assert "KVTOP_SCAN_LENGHTS is no setting" in line
    assert "Did you mean KVTOP_SCAN_LENGTHS?" in line


@pytest.mark.parametrize(
    "environment", [{"KVTOP_UI_ASCII": "true"}, {"LC_ALL": "C"}, {"LANG": "C", "LC_CTYPE": "C.UTF-8"}]
)
def test_ascii_where_it_is_asked_for(
    kvtop: Kvtop, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    assert "–" in kvtop("config", "show").out
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for arguments in (("config", "show"), ("scan", "--help"), ("status", "--demo", "--json")):
        ran = kvtop(*arguments)
        assert ran.code == 0
        assert ran.out.isascii()


def test_the_settings_file_may_ask_for_ascii(kvtop: Kvtop, home: Path) -> None:
    config = home / ".config/kvtop/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[ui]\nascii = true\n")
    assert kvtop("config", "show").out.isascii()
    config.write_text("[ui]\nascii = true\nnonsense = 1\n")
    assert kvtop("scan", "--help").code == 0
