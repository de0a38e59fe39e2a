from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from kvtop.model.failure import Failure, KvtopError

MINIMAL = 'base_url = "https://api.example.com"\nmodel = "m"\n'


@pytest.fixture
def environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": "/usr/bin:/bin"}


@pytest.fixture
def write(home: Path) -> Callable[..., Path]:
    """Write one of the user's profiles."""

    def write(content: str, name: str = "lab", mode: int = 0o600) -> Path:
        path = home / ".config" / "kvtop" / "profiles" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(mode)
        return path

    return write


def failure_of(call: Callable[[], object], secret: str | None = None) -> Failure:
    """Return the failure that a call ends with; nothing that can be printed of it holds the secret."""
    with pytest.raises(KvtopError) as caught:
        call()
    error = caught.value
    if secret is not None:
        printed = "".join(traceback.format_exception(error)) + repr(error) + str(error) + repr(error.failure)
        chained = [error.__cause__, error.__context__]
        assert secret not in printed + repr(chained)
        assert secret not in repr(error.args) + str(error.failure.to_json())
    return error.failure
