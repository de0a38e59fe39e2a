from __future__ import annotations

import os
import select
import sys
from pathlib import Path

import pytest

from kvtop.providers.key_command import CommandResult, run_key_command

KEY = "tk0123456789abcdefXYZ"
ENVIRON = {"PATH": "/usr/bin:/bin", "TOKEN": KEY}


def run(script: str, timeout_s: float = 10.0) -> CommandResult:
    return run_key_command((sys.executable, "-c", script), ENVIRON, timeout_s)


def test_output_environment_and_no_shell() -> None:
    result = run("import os; print(os.environ['TOKEN'])")
    assert (result.output.reveal(), result.trouble) == (f"{KEY}\n", "")
    assert run_key_command(("echo", "$TOKEN;", "`id`"), ENVIRON).output.reveal() == "$TOKEN; `id`\n"
    assert KEY not in repr(result)


def test_standard_input_is_empty() -> None:
    assert run("import sys; print(repr(sys.stdin.read()))").output.reveal() == "''\n"


@pytest.mark.parametrize(
    ("argv", "words"),
    [(("no-such-program-here",), "no such file"), (("/",), "denied"), (("a\0b",), "not a program")],
)
def test_what_cannot_be_started(argv: tuple[str, ...], words: str) -> None:
    assert words in run_key_command(argv, ENVIRON).trouble


def test_exit_code_and_message() -> None:
    result = run("import sys; sys.stderr.write('vault \\x1b[31mis locked\\n'); sys.exit(3)")
    assert result.trouble == "ended with exit code 3"
    assert result.message == "vault is locked"


def test_ended_by_a_signal() -> None:
    assert run("import os; os.kill(os.getpid(), 9)").trouble == "was ended by signal 9"


@pytest.mark.parametrize(
    "script",
    [
        "import os, sys; key = os.environ['TOKEN']; print(key); sys.stderr.write('got ' + key); sys.exit(1)",
        "import sys; print('shortkey'); sys.stderr.write('got shortkey!'); sys.exit(1)",
        "import os, sys; print(os.environ['TOKEN']); sys.stderr.write(os.environ['TOKEN'][:9]); sys.exit(1)",
        "import sys; sys.stderr.write('key=sk-' + 'a1b2c3d4' * 3); sys.exit(1)",
        "import sys; sys.stderr.write('denied for \"' + 'a1b2c3d4' * 4 + '\"'); sys.exit(1)",
    ],
)
def test_a_message_that_may_hold_the_key_is_not_shown(script: str) -> None:
    result = run(script)
    assert result.trouble == "ended with exit code 1"
    assert result.message == ""


def test_time_limit_ends_the_program_and_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f'sleep 60 & echo $$ $! > "{pids}"; wait'
    assert "did not end within" in run_key_command(("sh", "-c", script), ENVIRON, 2.0).trouble
    for pid in map(int, pids.read_text().split()):
        assert has_ended(pid)


def test_a_child_that_keeps_the_pipe_open_does_not_hang_us() -> None:
    script = "import subprocess; subprocess.Popen(['sleep', '60']); print('key')"
    assert "did not end within" in run(script, 1.5).trouble


def test_closed_pipes_do_not_end_the_wait() -> None:
    script = "import os, time; os.close(1); os.close(2); time.sleep(60)"
    assert "did not end within" in run(script, 0.5).trouble


def test_endless_output_is_cut() -> None:
    result = run_key_command(("yes",), ENVIRON)
    assert "far more than a key" in result.trouble
    assert len(result.output.reveal()) < 32 * 1024


def has_ended(pid: int) -> bool:
    """Whether a process ends within 10 s."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 10.0)[0])
    finally:
        os.close(handle)
