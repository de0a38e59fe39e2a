"""What every test gets: a home of its own, and nothing of the developer's."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PRIVATE_PREFIXES = ("ANTHROPIC_", "CC_SWITCH_", "CLAUDE_", "CODEX_", "KVTOP_", "OPENAI_", "XDG_")
PRIVATE_NAMES = {
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("no_color", "force_color", "clicolor", "clicolor_force", "columns", "lines"),
}


def pytest_configure() -> None:
    """Undo ignored signals: a shell's background job hands them down, and then no test could stop a child."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, default)


def is_private(name: str) -> bool:
    """Return whether a variable could carry the developer's settings, keys, proxies or terminal along."""
    return name.startswith(PRIVATE_PREFIXES) or name.lower() in PRIVATE_NAMES


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder; the XDG folders lie in it and do not exist yet."""
    folder = tmp_path_factory.mktemp("home")
    for name in filter(is_private, list(os.environ)):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / ".local/share"))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / ".local/state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / ".cache"))
    return folder
