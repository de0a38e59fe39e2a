from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.pty.byte_stream import foreign_in
from tests.pty.conftest import FakeGpus
from tests.pty.kvtop_on_pty import KvtopOnPty

KEYS = ("s scan", "? help", "q quit")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=str)
def test_first_screen_is_full(start: Callable[..., KvtopOnPty], size: tuple[int, int]) -> None:
    app = start(size=size)
    app.started()
    assert app.lines[0].lstrip().startswith("kvtop")
    assert all(key in app.lines[-1] for key in KEYS)
    app.until(lambda: all(title in app.shown for title in ("1 GPUs", "2 Requests", "3 Curves")))
    app.until("No NVIDIA driver")
    app.quit()
    assert foreign_in(bytes(app.written)) == []


def test_wide_screen_shows_all_panels_and_a_small_one_the_chosen(start: Callable[..., KvtopOnPty]) -> None:
    wide = start()
    wide.started()
    assert "No run yet." in wide.until("Press s to start")
    small = start(size=(80, 24))
    assert "No run yet." not in small.started()
    small.press("2")
    small.until("No run yet.")
    wide.quit()
    small.quit()


@pytest.mark.parametrize(("size", "panel"), [((80, 24), ""), ((120, 40), ""), ((120, 40), "1")], ids=str)
def test_sixteen_gpus_are_all_visible(
    start: Callable[..., KvtopOnPty],
    fake_gpus: Callable[[str], FakeGpus],
    size: tuple[int, int],
    panel: str,
) -> None:
    driver = fake_gpus("gpus 16\n" + "".join(f"memory {gpu} 81920 {1024 * (gpu + 1)}\n" for gpu in range(16)))
    app = start(size=size, **driver.environ)
    app.started()
    app.press(panel)
    app.until(lambda: all(f" {gpu}.0/80.0" in app.shown for gpu in range(1, 17)))
    app.quit()
