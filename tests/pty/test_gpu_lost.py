from __future__ import annotations

import re
from collections.abc import Callable

from tests.pty.conftest import FakeGpus
from tests.pty.kvtop_on_pty import KvtopOnPty


def row_of(app: KvtopOnPty, gpu: int) -> str:
    """Return the line of a GPU; empty where there is none."""
    rows = (line for line in app.lines if re.match(rf"[│ ]*{gpu}\W", line))
    return next(rows, "")


def test_lost_gpu_keeps_its_row_and_comes_back(
    start: Callable[..., KvtopOnPty], fake_gpus: Callable[[str], FakeGpus]
) -> None:
    driver = fake_gpus("gpus 3\n")
    app = start(**driver.environ)
    app.until(lambda: all("GiB" in row_of(app, gpu) for gpu in range(3)))
    driver.now("lost 1 0\n")
    app.until(lambda: "lost" in row_of(app, 1).lower())
    assert "GiB" in row_of(app, 0)
    assert "GiB" in row_of(app, 2)
    driver.now("\n")
    app.until(lambda: "GiB" in row_of(app, 1) and "lost" not in row_of(app, 1).lower())
    app.quit()
