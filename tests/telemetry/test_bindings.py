"""Packages that bring a module `pynvml` of their own."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from kvtop.telemetry.gpu.bindings import load_bindings
from kvtop.telemetry.gpu.source import GpuUnavailable
from tests.telemetry.conftest import FakeNvml, run_scenario

PACKAGE_11 = "def nvmlInit(): raise RuntimeError('stale')\n"
WARNING_13 = """
import importlib.util, sys, warnings
from importlib import metadata
warnings.warn("The pynvml package is deprecated.", FutureWarning)
path = metadata.distribution("nvidia-ml-py").locate_file("pynvml.py")
spec = importlib.util.spec_from_file_location("pynvml", path)
module = sys.modules["pynvml"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
"""


def shadow(folder: Path, *, package: bool, text: str) -> str:
    path = folder / "pynvml" / "__init__.py" if package else folder / "pynvml.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return str(path)


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def distribution(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.delitem(sys.modules, "_kvtop_pynvml", raising=False)
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    monkeypatch.setattr(metadata, "distribution", distribution)


@pytest.mark.parametrize("package", [True, False], ids=["pynvml 11", "nvidia-ml-py3 elsewhere"])
def test_own_bindings_are_found_behind_another_package(
    fake_nvml: FakeNvml, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: bool
) -> None:
    shadow(tmp_path, package=package, text=PACKAGE_11)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    result = fake_nvml.run("once").result
    assert result["failures"] == []
    assert result["gpus"][0]["mem_used_bytes"] == 2**30
    assert result["notes"] == []


def test_warning_of_the_package_pynvml_13_does_not_reach_the_screen(
    fake_nvml: FakeNvml, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shadow(tmp_path, package=False, text=WARNING_13)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert fake_nvml.run("once").result["failures"] == []


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize("package", [True, False])
def test_outdated_bindings_alone_are_refused_by_the_name_of_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: bool
) -> None:
    path = shadow(tmp_path, package=package, text=PACKAGE_11)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(GpuUnavailable) as raised:
        load_bindings()
    assert raised.value.failure.code == "nvml_bindings"
    assert path in raised.value.failure.text


@pytest.mark.usefixtures("nothing_installed")
def test_package_that_knows_enough_is_used_where_it_is_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shadow(tmp_path, package=True, text="nvmlMemory_v2 = 0x02000028\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert load_bindings().__file__ == path


@pytest.mark.usefixtures("nothing_installed")
def test_missing_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(GpuUnavailable) as raised:
        load_bindings()
    assert raised.value.failure.code == "nvml_bindings"


def test_missing_library() -> None:
    result = run_scenario("once", {"LD_LIBRARY_PATH": "/nonexistent", "PATH": "/nonexistent"}, {})
    if not result["failures"]:
        pytest.skip("this machine has a real NVIDIA driver")
    assert result["failures"][0]["code"] == "nvml_missing"
