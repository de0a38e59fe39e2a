"""What runners say: one log each, below the folder of the runs."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtop.model.failure import Failure, KvtopError
from kvtop.runs.disk import make_private_folder, open_private, open_regular, write_error

if TYPE_CHECKING:
    from pathlib import Path

KEPT_LOGS = 20
_TAIL_BYTES = 4096
_FAILED = "kvtop: "
_HINTS = ("→ ", "-> ")
_WARNING = "warning: "


@dataclass(frozen=True, slots=True)
class LastWords:
    """Why a process ended, in its own words; empty when it said nothing."""

    text: str = ""
    hint: str = ""


def open_log(root: Path) -> tuple[Path, int]:
    """Create a log (0600) in `<root>/.log` (0700) and return it with an open descriptor; old logs go.

    Raises KvtopError `disk_full`, `unwritable_folder`, `write_failed`.
    """
    folder = root / ".log"
    _make_folders(folder)
    _remove_old(folder)
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    path = folder / f"{moment}-{secrets.token_hex(3)}.log"
    return path, open_private(path, os.O_WRONLY | os.O_APPEND | os.O_EXCL)


def log_tail(path: Path) -> LastWords:
    """Return the failure at the end of a log, else its last line."""
    try:
        with open_regular(path) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - _TAIL_BYTES, 0))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return LastWords()
    return _last_words([line.strip() for line in text.splitlines() if line.strip()])


def _last_words(lines: list[str]) -> LastWords:
    for number in reversed(range(len(lines))):
        said = lines[number].removeprefix(_FAILED)
        if said != lines[number] and not said.startswith(_WARNING):
            after = lines[number + 1] if number + 1 < len(lines) else ""
            return LastWords(said, _without_arrow(after))
    return LastWords(lines[-1]) if lines else LastWords()


def _make_folders(folder: Path) -> None:
    try:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        for path in reversed(missing):
            with contextlib.suppress(FileExistsError):
                make_private_folder(path)
        if not folder.is_dir():
            failure = Failure.of("unwritable_folder", f"{folder} is not a folder.", "Move it away.")
            raise KvtopError(failure)
    except OSError as error:
        raise write_error(folder, error, "unwritable_folder") from error


def _remove_old(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for path in sorted(folder.glob("*.log"))[: -KEPT_LOGS + 1]:
            path.unlink()


def _without_arrow(line: str) -> str:
    for arrow in _HINTS:
        line = line.removeprefix(arrow)
    return line
