"""Follows a run by its events, from another process, from the first one on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from kvtop.model.event import Event
from kvtop.model.failure import Failure, KvtopError
from kvtop.runs.disk import open_regular
from kvtop.runs.layout import RunFolder
from kvtop.runs.lock import is_held, was_held
from kvtop.runs.reader import parse_event

START_S = 10.0
"""How long a follower waits for a runner that has not taken the lock yet, in seconds."""


def follow(
    folder: RunFolder, *, poll_s: float = 0.2, wait: Callable[[float], None] = time.sleep
) -> Iterator[Event]:
    """Yield all events of a run from its beginning, then each new one as it is written.

    Ends after the `finished` event that is last in the file (a resumed run has earlier ones), or, when
    nobody holds the run's lock, after a `finished` event with state `interrupted` that is made up here.
    Lines that are no events are skipped. Raises KvtopError `unreadable_run` when the file cannot be read.
    """
    tail = _Tail(folder.events_jsonl)
    last: Event | None = None
    patience_s = START_S
    while True:
        live = is_held(folder)
        new = tail.read()
        yield from new
        last = new[-1] if new else last
        if last and last.type == "finished":
            return
        if not live and (last or was_held(folder) or patience_s <= 0):
            yield Event(time.time(), "finished", {"state": "interrupted"})
            return
        patience_s -= 0 if live else poll_s
        if not new:
            wait(poll_s)


class _Tail:
    """Reads the whole lines that were added to a growing file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def read(self) -> list[Event]:
        data = self._added()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return list(_events(whole))

    def _added(self) -> bytes:
        try:
            with open_regular(self._path) as file:
                file.seek(self._offset, os.SEEK_SET)
                return file.read()
        except FileNotFoundError:
            return b""
        except OSError as error:
            text = f"Cannot read {self._path}: {error.strerror or error}."
            hint = "Check its owner and permissions."
            raise KvtopError(Failure.of("unreadable_run", text, hint)) from error


def _events(lines: bytes) -> Iterator[Event]:
    for line in lines.split(b"\n"):
        try:
            yield parse_event(line)
        except ValueError:
            continue
