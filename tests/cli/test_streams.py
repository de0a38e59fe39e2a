"""What happens to output on streams that cannot take it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest

from kvtop.cli import streams
from kvtop.model.failure import Failure
from tests.experiments.chat_server import ChatServer
from tests.runner.program import ROOT, ended, program, run_program, scan_arguments


def ascii_stdout(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """Replace stdout; in the test itself, because pytest puts its own there after the fixtures."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    return raw


def test_glyphs_have_ascii_twins(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = ascii_stdout(monkeypatch)
    streams.show("1–2 … → ü")
    assert raw.getvalue() == b"1-2 ... -> ?\n"


def test_json_on_an_ascii_stream_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = ascii_stdout(monkeypatch)
    streams.show_json({"text": "ü – 模型"})
    assert json.loads(raw.getvalue()) == {"text": "ü – 模型"}


def test_streams_that_are_not_there_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    streams.show_json({"a": 1})
    streams.say_failure(Failure("x", "Text.", "Hint."))
    streams.finish_streams()
    assert not streams.is_tty(None)


def test_a_closed_pipe_is_quiet_for_a_report_and_for_help() -> None:
    for arguments in (("scan", "--help"), ("status", "--demo", "--json"), ("runs", "list", "--json")):
        shell = f'"{sys.executable}" -m kvtop {" ".join(arguments)} | head -c 10'
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            ["sh", "-c", shell], env=environment, capture_output=True, text=True, check=True
        )
        assert len(done.stdout) == 10
        assert done.stderr == ""


def test_a_reader_that_is_gone_does_not_change_the_exit_code() -> None:
    with program("scan", "--help") as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        assert ended(process) == (0, "", "") or process.returncode == 0


@pytest.mark.parametrize("environment", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_a_terminal_without_unicode_gets_a_report(server: ChatServer, environment: dict[str, str]) -> None:
    code, out, err = run_program(*scan_arguments(server.url), env=environment)
    assert code == 0
    assert "TTFT in ms" in out
    assert "run folder:" in err
    if "PYTHONIOENCODING" in environment:
        assert out.isascii()
        assert "?" not in out
