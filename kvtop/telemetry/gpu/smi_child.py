"""The one nvidia-smi that runs for as long as its readings are wanted."""

from __future__ import annotations

import os
import subprocess
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvtop.model.text import clean_text
from kvtop.telemetry.gpu.smi_rows import SmiRow, parse_line, unknown_field

_CHUNK = 65_536
_LONGEST_LINE = 4096
_END_S = 0.5
_TRUSTED_LAG_S = 60.0
"""A row's own time is believed up to this lag behind its arrival: it may have waited in a buffer."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A row, and when its values were taken and read, in monotonic seconds."""

    row: SmiRow
    taken_at: float
    read_at: float


class SmiChild:
    """Starts nvidia-smi and reads it in a thread that never stops reading, so that no row waits in the pipe.

    It ends with `kill`, with this object, or at the end of the program. Raises OSError when it cannot start.
    """

    def __init__(self, program: str, fields: Sequence[str], period_ms: int) -> None:
        self._fields = tuple(fields)
        query = [f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits", "-lms", str(period_ms)]
        self._process = subprocess.Popen(  # noqa: S603 - nvidia-smi, as found on PATH
            [program, *query],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            env={**os.environ, "LC_ALL": "C", "TZ": "UTC"},  # the timestamps are local time
            start_new_session=True,  # a Ctrl-C at the terminal is for us alone
        )
        self._inbox = inbox = _Inbox()
        self._thread = threading.Thread(
            target=_read, args=(self._process, self._fields, inbox), name="kvtop-nvidia-smi", daemon=True
        )
        self._thread.start()
        self._kill = weakref.finalize(self, _end, self._process)

    @property
    def rows(self) -> tuple[Arrival, ...]:
        """The last row of each GPU."""
        return tuple(self._inbox.rows.values())

    @property
    def has_ended(self) -> bool:
        """Whether it closed its output."""
        return self._inbox.ended

    @property
    def unknown_field(self) -> str | None:
        """The field that it refused."""
        return self._inbox.unknown_field

    @property
    def last_words(self) -> str:
        """How it ended and what it said that was no row."""
        code = self._process.returncode
        ending = "was killed" if code is not None and code < 0 else f"ended with code {code}"
        return f"{ending}: {self._inbox.words}" if self._inbox.words else ending

    def wait_for_round(self, timeout_s: float, settle_s: float) -> None:
        """Wait until all GPUs had their turn: as many as it says there are, or none new for `settle_s`."""
        with self._inbox.changed:
            self._inbox.changed.wait_for(lambda: self._inbox.ended or self._inbox.rows, timeout_s)
            self._inbox.changed.wait_for(lambda: self._inbox.ended or self._inbox.is_complete, settle_s)

    def kill(self) -> None:
        """End it by its own handle; a process that the kernel holds is left behind after half a second."""
        self._kill()


class _Inbox:
    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.rows: dict[object, Arrival] = {}
        self.ended = False
        self.words = ""
        self.unknown_field: str | None = None

    @property
    def is_complete(self) -> bool:
        counts = [arrival.row.count for arrival in self.rows.values() if arrival.row.count]
        return bool(counts) and len(self.rows) >= max(counts)

    def put(self, line: str, fields: Sequence[str]) -> None:
        with self.changed:
            row = parse_line(line, fields)
            if row is not None:
                self.rows[_key(row)] = _arrived(row)
            else:
                self.words = clean_text(line) or self.words
                self.unknown_field = unknown_field(line) or self.unknown_field
            self.changed.notify_all()

    def end(self) -> None:
        with self.changed:
            self.ended = True
            self.changed.notify_all()


def _read(process: subprocess.Popen[bytes], fields: Sequence[str], inbox: _Inbox) -> None:
    output = process.stdout
    if output is not None:
        with output:
            for line in _lines(output.fileno()):
                inbox.put(line.decode("utf-8", "replace"), fields)
    process.wait()
    inbox.end()


def _lines(descriptor: int) -> Iterator[bytes]:
    rest = b""
    while chunk := os.read(descriptor, _CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line for line in lines if line)
        rest = rest[-_LONGEST_LINE:]
    if rest:
        yield rest


def _key(row: SmiRow) -> object:
    return row.uuid or row.bus_id or row.index


def _arrived(row: SmiRow) -> Arrival:
    now = time.monotonic()
    lag_s = time.time() - row.ts if row.ts is not None else 0.0
    return Arrival(row, now - lag_s if 0.0 <= lag_s <= _TRUSTED_LAG_S else now, now)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        return
