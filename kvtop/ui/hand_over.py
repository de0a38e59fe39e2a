"""Files that the app hands over: what was copied, and pictures of the screen."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kvtop.settings.paths import cache_dir

if TYPE_CHECKING:
    from collections.abc import Mapping


def write_copy(text: str, environ: Mapping[str, str]) -> str:
    """Write a copied text into a file besides the clipboard; return what to tell.

    Terminals that do not know OSC 52 drop it without a word, so the file is the sure way.
    """
    path = cache_dir(environ) / "copied.txt"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(path, text + "\n")
    except OSError as error:
        return f"Sent to the terminal's clipboard (OSC 52); no file: {error.strerror}."
    return f"Sent to the terminal's clipboard (OSC 52), and in {path}"


def write_screenshot(svg: str, data_dir: Path) -> str:
    """Write an SVG into the current folder, or into `data_dir` where that cannot be; return what to tell."""
    name = time.strftime("kvtop-%Y%m%d-%H%M%S.svg")
    reason = ""
    for folder in (Path.cwd, lambda: data_dir):
        try:
            path = folder() / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(path, svg)
        except OSError as error:
            reason = error.strerror or "unknown error"
            continue
        return f"Picture of the screen: {path}"
    return f"No picture: {reason}."


def _write(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor, not a path
        file.write(text)
