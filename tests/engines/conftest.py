"""Real engines, one of each kind for a whole test run.

`llama_server` belongs to the ordinary tests. A test that asks for one of the others is marked `heavy_engine`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from . import launches
from .tiny_models import TinyModels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .servers import Launch, RunningServer

HEAVY_FIXTURES = {"vllm_server", "transformers_server_fp32", "transformers_server_bf16"}


def engines_folder() -> Path:
    """Return where `install.sh` puts the engines."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("KVTOP_ENGINES_DIR") or Path(cache) / "kvtop-engines")


# Read on import: the tests themselves see another home.
ENGINES = engines_folder()
IS_CI = os.environ.get("CI", "").lower() in {"1", "true"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that ask for an engine which is not installed with the test packages."""
    for item in items:
        if isinstance(item, pytest.Function) and HEAVY_FIXTURES & set(item.fixturenames):
            item.add_marker("heavy_engine")


def installed(name: str) -> Path:
    """Return an engine's virtual environment; where it is missing, skip, or fail on CI."""
    venv = ENGINES / name
    if (venv / "installed.txt").exists():
        return venv
    reason = f"{name} is not installed in {venv}: run tests/engines/install.sh {name}"
    if IS_CI:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def running(launch: Launch, folders: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Yield an engine that answers, and stop it."""
    server = launch.start(folders.mktemp("engine") / "log.txt")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def engines_cache() -> Path:
    """The folder for what engines keep between runs."""
    folder = ENGINES / "cache"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def tiny_models() -> TinyModels:
    """The tiny models, each made when first asked for."""
    return TinyModels(ENGINES)


@pytest.fixture(scope="session")
def llama_server(
    tiny_models: TinyModels, engines_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """llama.cpp with model `fast`: 1,024 KV bytes a token, 65,536 tokens, 4 slots."""
    yield from running(launches.llama(tiny_models.model("fast"), engines_cache), tmp_path_factory)


@pytest.fixture(scope="session")
def vllm_server(
    tiny_models: TinyModels, engines_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """vLLM with model `base`: 8,192 KV bytes a token, a pool of 131,072 tokens."""
    launch = launches.vllm(installed("vllm"), tiny_models.model("base"), engines_cache)
    yield from running(launch, tmp_path_factory)


@pytest.fixture(scope="session")
def transformers_server_fp32(
    tiny_models: TinyModels, engines_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """`transformers serve` with model `fat` in float32: 131,072 KV bytes a token."""
    venv = installed("transformers")
    launch = launches.transformers(venv, tiny_models.model("fat"), engines_cache, dtype="float32")
    yield from running(launch, tmp_path_factory)


@pytest.fixture(scope="session")
def transformers_server_bf16(
    tiny_models: TinyModels, engines_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    """`transformers serve` with model `fat` in bfloat16: 65,536 KV bytes a token."""
    venv = installed("transformers")
    launch = launches.transformers(venv, tiny_models.model("fat"), engines_cache, dtype="bfloat16")
    yield from running(launch, tmp_path_factory)
