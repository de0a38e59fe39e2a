from __future__ import annotations

from collections.abc import Callable

from benchmarks.pty_app import LINK_BYTES_PER_S
from tests.pty.conftest import FakeGpus
from tests.pty.kvtop_on_pty import KvtopOnPty


def test_keys_work_on_a_slow_link(
    start: Callable[..., KvtopOnPty], fake_gpus: Callable[[str], FakeGpus]
) -> None:
    driver = fake_gpus("gpus 8\n" + "".join(f"wave {gpu} 5 1000 80000\n" for gpu in range(8)))
    app = start(bytes_per_s=LINK_BYTES_PER_S, **driver.environ)
    app.until("GiB")
    for _ in range(3):
        app.press("?")
        app.until("Esc closes")
        app.leave("Esc closes")
    app.quit()
