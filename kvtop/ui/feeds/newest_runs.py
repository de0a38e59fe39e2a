"""The run folders under a root, newest first, at the price of one stat while nothing is added."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from kvtop.model.failure import Failure, KvtopError
from kvtop.runs.layout import RunFolder
from kvtop.runs.manifest import read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LISTED_ANEW_S = 5.0
"""The list is made anew after this time in any case: not every file system tells of new entries."""
_COARSE_S = 1.0
"""A folder changed so recently may change again without a new time stamp."""

_NAMED = re.compile(r"(\d{8}T\d{6}Z)-.+?(?:-(\d{1,4}))?")

Age = tuple[str, int, str]


class NewestRuns:
    """Lists run folders by the time in their names, others by their manifest."""

    def __init__(self, root: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._root = root
        self._clock = clock
        self._changed: tuple[int, int] | None = None
        self._listed_ts = 0.0
        self._folders: tuple[RunFolder, ...] = ()

    def folders(self) -> tuple[RunFolder, ...]:
        """Return the folders, none when the root is not there. Raises KvtopError `unreadable_folder`."""
        try:
            status = self._root.stat()
            changed = (status.st_ino, status.st_mtime_ns)
            now_ts = self._clock()
            if changed != self._changed or self._is_old(now_ts, status.st_mtime):
                self._folders = _list(self._root)
                self._changed, self._listed_ts = changed, now_ts
        except FileNotFoundError:
            self._folders, self._changed = (), None
        except OSError as error:
            text = f"Cannot read {self._root}: {error.strerror or error}."
            failure = Failure.of("unreadable_folder", text, "Check its owner and permissions.")
            raise KvtopError(failure) from error
        return self._folders

    def _is_old(self, now_ts: float, changed_ts: float) -> bool:
        age_s = now_ts - self._listed_ts
        return age_s < 0 or age_s > LISTED_ANEW_S or self._listed_ts - changed_ts < _COARSE_S


def _list(root: Path) -> tuple[RunFolder, ...]:
    found: list[tuple[Age, RunFolder]] = []
    for path in root.iterdir():
        age = _age(path)
        if age is not None:
            found.append((age, RunFolder(path)))
    found.sort(key=lambda item: item[0], reverse=True)
    return tuple(folder for _, folder in found)


def _age(path: Path) -> Age | None:
    """Return what sorts a run among others, None for what is none."""
    if path.name.startswith("."):
        return None
    named = _NAMED.fullmatch(path.name)
    if named:
        return named[1], int(named[2] or 1), path.name
    try:
        created_ts = read_manifest(RunFolder(path)).created_ts
        return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(created_ts)), 1, path.name
    except (KvtopError, ValueError, OverflowError, OSError):
        return None
