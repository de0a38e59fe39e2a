"""What an installation from the wheel finds."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kvtop.settings.paths import shipped_dir

CHECKOUT = Path(__file__).resolve().parents[2]
BUILD = "import hatchling.build, sys; print(hatchling.build.build_wheel(sys.argv[1]))"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as the wheel unpacks it, built from a copy without `.git`."""
    pytest.importorskip("hatchling")
    source = tmp_path_factory.mktemp("source")
    for name in ("kvtop", "profiles", "themes"):
        shutil.copytree(CHECKOUT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "LICENSE", ".gitignore"):
        shutil.copy(CHECKOUT / name, source / name)
    (source / "README.md").write_text("kvtop\n")
    output = tmp_path_factory.mktemp("output")
    built = subprocess.run(
        [sys.executable, "-c", BUILD, str(output)], cwd=source, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = output.glob("*.whl")
    target = tmp_path_factory.mktemp("site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def test_shipped_folders_are_in_the_package(installed: Path) -> None:
    package = installed / "kvtop"
    assert shipped_dir("profiles", package) == package / "shipped" / "profiles"
    assert shipped_dir("themes", package).is_dir()
    shipped = {path.name for path in shipped_dir("profiles", package).iterdir()}
    assert shipped == {path.name for path in (CHECKOUT / "profiles").iterdir()}


def test_installed_package_loads_a_shipped_profile(installed: Path, tmp_path: Path) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from kvtop.providers.store import list_profiles, load_profile\n"
        "assert all(entry.shipped and not entry.problem for entry in list_profiles({'HOME': '/nowhere'}))\n"
        "print(load_profile('taotoken', {'HOME': '/nowhere'}).path)\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", script, str(installed)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert Path(shown.stdout.strip()) == installed / "kvtop/shipped/profiles/taotoken.toml"
