"""A key is found in no file of a run and on no screen."""

from __future__ import annotations

import pytest

from kvtop.cli.main import run_command_line
from tests.experiments.chat_server import Fault, refusal, serving
from tests.runner.program import latest, scan_arguments

KEY = "sk-live-Zx81kQvNw03rTgLm55"
PIECE = KEY[8:18]
ECHOES = {
    5: refusal(500, "upstream said: bad header Authorization %KEY%"),
    6: Fault(200, b'{"error": {"message": "%KEY% is not known here"}}'),
}


def planted(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the places where the key, or a piece of it, is found."""
    told = capsys.readouterr()
    texts = {"stdout": told.out, "stderr": told.err}
    files = [path for path in latest().path.iterdir() if path.is_file()]
    assert len(files) >= 6
    texts |= {path.name: path.read_text(errors="replace") for path in files}
    return [name for name, text in texts.items() if KEY in text or PIECE in text]


@pytest.mark.usefixtures("quick_base")
def test_a_key_that_the_server_echoes_everywhere_is_kept_nowhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAB_KEY", KEY)
    with serving(echoes_key=True) as server:
        server.faults.update(ECHOES)
        arguments = scan_arguments(server.url, "--key-env", "LAB_KEY", "--keep-bodies")
        assert run_command_line(arguments) == 1
        assert {chat.authorization for chat in server.chats} == {f"Bearer {KEY}"}
    assert planted(capsys) == []
    assert 'key_origin = "env LAB_KEY"' in latest().run_toml.read_text()


@pytest.mark.usefixtures("quick_base")
def test_a_refusal_that_repeats_the_key_is_cleaned(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAB_KEY", KEY)
    with serving(echoes_key=True) as server:
        server.fault = refusal(401, "Incorrect API key provided: %KEY%")
        assert run_command_line(scan_arguments(server.url, "--key-env", "LAB_KEY")) == 3
    assert planted(capsys) == []


@pytest.mark.usefixtures("quick_base")
def test_a_resume_finds_the_key_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", KEY)
    with serving() as server:
        server.faults[4] = refusal(500, "Once.")
        assert run_command_line(scan_arguments(server.url, "--key-env", "LAB_KEY")) == 1
        monkeypatch.delenv("LAB_KEY")
        sent = len(server.chats)
        assert run_command_line(["runs", "resume"]) == 2
        assert len(server.chats) == sent
        monkeypatch.setenv("LAB_KEY", KEY)
        assert run_command_line(["runs", "resume"]) == 0
        assert {chat.authorization for chat in server.chats} == {f"Bearer {KEY}"}
        assert len(server.chats) == sent + 1
