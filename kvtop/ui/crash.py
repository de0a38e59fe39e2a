"""Errors that nobody foresaw: told in one line, kept in a file, never with the values of variables."""

from __future__ import annotations

import os
import platform
import time
import traceback
from typing import TYPE_CHECKING

from kvtop import __version__
from kvtop.model.failure import Failure
from kvtop.settings.paths import cache_dir

if TYPE_CHECKING:
    from collections.abc import Mapping


def keep(error: BaseException, environ: Mapping[str, str]) -> Failure:
    """Write where the error came from into a file of its own and return what to tell."""
    text = f"kvtop ran into an error of its own: {type(error).__name__}: {error}"
    path = cache_dir(environ) / time.strftime("error-%Y%m%d-%H%M%S.txt")
    lines = "".join(traceback.format_exception(error))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - a descriptor
            file.write(f"kvtop {__version__}, Python {platform.python_version()}\n{lines}")
    except OSError as failed:
        return Failure.of("internal_error", text, f"No file could be written: {failed.strerror}.")
    return Failure.of("internal_error", text, f"Please report it with {path}")
