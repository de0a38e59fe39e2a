"""stdout is data, stderr is narration; neither may end a measurement."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from kvtop.model.failure import Failure


def say(text: str = "") -> None:
    """Print a line for people on stderr. A terminal that has gone away is ignored."""
    _write(sys.stderr, text + "\n")


def show(text: str) -> None:
    """Print text that was asked for on stdout."""
    _write(sys.stdout, text + "\n")


def show_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document on stdout."""
    show(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2))


def say_failure(failure: Failure) -> None:
    """Print what went wrong and what to do."""
    say(f"kvtop: {failure.text}")
    if failure.hint:
        say(f"  → {failure.hint}" if _can_encode("→") else f"  -> {failure.hint}")


def is_tty(stream: TextIO) -> bool:
    """Whether `stream` is a terminal; False for one that is closed."""
    try:
        return stream.isatty()
    except (ValueError, OSError):
        return False


def _can_encode(text: str) -> bool:
    try:
        text.encode(sys.stderr.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except UnicodeEncodeError:
        _write(stream, text.encode(stream.encoding or "ascii", "replace").decode(stream.encoding or "ascii"))
    except (OSError, ValueError):
        _silence(stream)


def _silence(stream: TextIO) -> None:
    """Send the rest of a dead stream nowhere, so that Python's own flush at exit stays quiet too."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        return
