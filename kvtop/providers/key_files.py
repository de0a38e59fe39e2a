"""Files that hold a key: reading them, and who else may."""

from __future__ import annotations

import shlex
import stat
from typing import TYPE_CHECKING

from kvtop.model.failure import Failure
from kvtop.model.secret import Secret

if TYPE_CHECKING:
    from pathlib import Path

_LARGEST_KEY_BYTES = 16 * 1024


def read_key_file(path: Path) -> Secret | None:
    """Return the content of a regular file, at most 16 KiB of it, or None when it cannot be read."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        with path.open("rb") as file:
            raw = file.read(_LARGEST_KEY_BYTES)
    except (OSError, ValueError):
        return None
    return Secret(raw.decode("utf-8-sig", errors="replace"))


def mode_flags(path: Path) -> tuple[Failure, ...]:
    """Return a `key_mode` warning when others than the owner may touch a file that holds a key."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return ()
    if not mode & (stat.S_IRWXG | stat.S_IRWXO):
        return ()
    text = f"{path} holds a key, but its mode {mode:o} lets others at it."
    return (Failure.of("key_mode", text, f"chmod 600 {shlex.quote(str(path))}"),)
