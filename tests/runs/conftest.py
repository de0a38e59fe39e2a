from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kvtop.runs.layout import RunFolder, create_run_folder
from tests.runs.samples import TS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def folder(root: Path) -> RunFolder:
    return create_run_folder(root, "scan", "Qwen/Qwen3-8B", TS)
