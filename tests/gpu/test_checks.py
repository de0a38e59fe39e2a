"""The checks for a real GPU, one test each: `pytest -m gpu tests/gpu`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.gpu.checks import CHECKS, Figures


@pytest.mark.gpu
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_real_gpu(check: Callable[[], Figures]) -> None:
    figures = check()
    assert figures["ok"], figures
