from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Kvtop

ADDRESS = "http://192.0.2.1:9"


@pytest.fixture
def profiles(home: Path) -> Path:
    folder = home / ".config/kvtop/profiles"
    folder.mkdir(parents=True)
    return folder


def warnings_of(kvtop: Kvtop, *arguments: str) -> list[str]:
    ran = kvtop("scan", "--lengths", "1k", *arguments)
    assert ran.code == 2
    assert "not_confirmed" not in ran.err
    return [line for line in ran.err.splitlines() if line.startswith("kvtop: warning: ")]


def written(path: Path, text: str, mode: int = 0o600) -> None:
    path.write_text(text)
    path.chmod(mode)


def test_a_clean_profile_gives_no_warning(
    kvtop: Kvtop, profiles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_KEY", "sk-lab-0123456789")
    written(profiles / "lab.toml", 'base_url = "https://192.0.2.1:9"\nmodel = "m"\nkey_env = "LAB_KEY"\n')
    assert warnings_of(kvtop, "--profile", "lab") == []


def test_every_doubt_about_a_profile_is_one_line(kvtop: Kvtop, profiles: Path) -> None:
    text = f'base_url = "{ADDRESS}"\nmodel = "m"\nkey = "sk-lab-0123456789"\nverify_tls = false\n'
    written(profiles / "lab.toml", text, 0o644)
    lines = warnings_of(kvtop, "--profile", "lab")
    assert len(lines) == 4
    for words in ("The key stands in", "chmod 600", "sent without encryption", "TLS is not verified."):
        assert sum(words in line for line in lines) == 1
    assert "sk-lab" not in "".join(lines)


def test_a_key_file_that_others_may_read(kvtop: Kvtop, profiles: Path) -> None:
    written(profiles / "lab.key", "sk-lab-0123456789\n", 0o640)
    text = 'base_url = "https://192.0.2.1:9"\nmodel = "m"\nkey_file = "lab.key"\n'
    written(profiles / "lab.toml", text)
    (line,) = warnings_of(kvtop, "--profile", "lab")
    assert "mode 640" in line


def test_a_key_that_a_flag_sends_in_the_clear(kvtop: Kvtop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "sk-lab-0123456789")
    (line,) = warnings_of(kvtop, "--base-url", ADDRESS, "--model", "m", "--key-env", "LAB_KEY")
    assert "sent without encryption" in line
    assert warnings_of(kvtop, "--base-url", ADDRESS, "--model", "m") == []
