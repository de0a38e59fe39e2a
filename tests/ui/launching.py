"""The app as tests start it: no GPU, no engine, the test's own home."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kvtop.model.failure import Failure
from kvtop.settings.config import load_settings
from kvtop.telemetry.gpu.none import NoGpu
from kvtop.ui.app import KvtopApp
from kvtop.ui.launch import Launch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from textual.pilot import Pilot

NO_GPU = Failure("no_gpu", "No NVIDIA driver here.", "Install one.")
UTF8 = {"LANG": "C.UTF-8", "TERM": "xterm-256color"}


def launch(
    flags: Mapping[str, object] | None = None, *, notices: tuple[Failure, ...] = (), **environ: str
) -> Launch:
    everything = {**os.environ, **UTF8, **environ}
    for name in ("LC_ALL", "LC_CTYPE", "NO_COLOR"):
        if name not in environ:
            everything.pop(name, None)
    return Launch(
        load_settings(everything, flags or {}),
        lambda: NoGpu(NO_GPU),
        notices=notices,
        environ=everything,
    )


def app(flags: Mapping[str, object] | None = None, **environ: str) -> KvtopApp:
    return KvtopApp(launch(flags, notices=(), **environ))


def configure(home: Path, text: str) -> Path:
    """Write config.toml and return it."""
    file = home / ".config" / "kvtop" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def text_of(running: KvtopApp) -> str:
    """What is on the screen, line by line."""
    return "\n".join(strip.text for strip in running.screen._compositor.render_strips())


async def until(pilot: Pilot[None], words: str) -> str:
    """Wait until the screen shows words; return what it shows."""
    for _ in range(400):
        shown = text_of(pilot.app)  # type: ignore[arg-type]  # every app here is kvtop's
        if words in shown:
            return shown
        await pilot.pause(0.01)
    raise AssertionError(f"{words!r} is not on the screen:\n{shown}")
