"""stdout is data, stderr is narration; neither may end a measurement."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from kvtop.model.failure import Failure

_ASCII = str.maketrans("–—−²×°·•●≤≥’µ÷", "---2x -**<>'u/") | str.maketrans({"…": "...", "→": "->"})
_COLUMNS = 80
_LONGEST_NUMBER = 5


@dataclass(slots=True)
class _Wishes:
    ascii_only: bool = False


_wishes = _Wishes()


def use_ascii(*, wanted: bool) -> None:
    """Print ASCII only from now on, whatever the streams could take, or no longer."""
    _wishes.ascii_only = wanted


def say(text: str = "") -> None:
    """Print a line for people on stderr. A terminal that has gone away is ignored."""
    _write(sys.stderr, text + "\n")


def say_in_place(text: str) -> None:
    """Write to stderr without ending the line, for a terminal's status line."""
    _write(sys.stderr, text)


def print_on(stream: TextIO | None, text: str) -> None:
    """Write `text` as it is on a stream that argparse has chosen."""
    _write(stream, text)


def show(text: str) -> None:
    """Print text that was asked for on stdout."""
    _write(sys.stdout, text + "\n")


def show_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document on stdout, indented."""
    show(_json(document, indent=2))


def show_json_line(document: Mapping[str, Any]) -> None:
    """Print one JSON document on one line of stdout."""
    show(_json(document, indent=None))


def say_failure(failure: Failure) -> None:
    """Print what went wrong and what to do."""
    say(f"kvtop: {failure.text}")
    if failure.hint:
        say(f"  → {failure.hint}")


def say_warning(failure: Failure) -> None:
    """Print, on one line, what works but deserves attention."""
    say(f"kvtop: warning: {failure.text} {failure.hint}".rstrip())


def is_tty(stream: TextIO | None) -> bool:
    """Whether `stream` is a terminal; False for one that is closed."""
    try:
        return stream is not None and stream.isatty()
    except (ValueError, OSError):
        return False


def columns(stream: TextIO | None) -> int:
    """Return how wide `stream` is: its terminal's width, else COLUMNS, else 80."""
    if stream is not None and is_tty(stream):
        with contextlib.suppress(OSError, ValueError):
            wide = os.get_terminal_size(stream.fileno()).columns
            if wide > 0:
                return wide
    return named_columns() or _COLUMNS


def named_columns() -> int | None:
    """Return what COLUMNS says, None where it says nothing usable."""
    text = os.environ.get("COLUMNS", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER else None


def is_unicode(stream: TextIO | None) -> bool:
    """Whether every character can and may be written to `stream`."""
    return not _wishes.ascii_only and "utf" in (getattr(stream, "encoding", None) or "").lower()


def keep_descriptors_open() -> None:
    """Put /dev/null where the caller closed stdin, stdout or stderr, so that no file takes their place."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is this one


def finish_streams() -> None:
    """Flush what others have printed, and make Python's own flush at exit silent on a closed pipe."""
    for stream in (sys.stdout, sys.stderr):
        _write(stream, "")


def _json(document: Mapping[str, Any], indent: int | None) -> str:
    return json.dumps(document, ensure_ascii=not is_unicode(sys.stdout), allow_nan=False, indent=indent)


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:
        return
    try:
        stream.write(_encodable(text, stream))
        stream.flush()
    except (OSError, ValueError):
        _silence(stream)


def _encodable(text: str, stream: TextIO) -> str:
    encoding = "ascii" if _wishes.ascii_only else stream.encoding or "ascii"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    return text


def _silence(stream: TextIO) -> None:
    """Send the rest of a dead stream nowhere, so that Python's own flush at exit stays quiet too."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
