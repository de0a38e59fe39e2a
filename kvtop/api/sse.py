"""Server-sent events out of bytes, however the network cut them."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_EVENT_BYTES = 4 * 1024 * 1024
"""Longest line, and most data of one event, that is accepted."""

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event: its name (empty when the server gave none) and its data lines joined."""

    name: str
    data: str


class SseSplitter:
    """Splits a byte stream into events (WHATWG HTML, section 9.2.6).

    Only CR, LF and CRLF end a line. More lenient than the standard where servers are: the last event
    may lack its blank line, an `error:` field is an event named `error`, and a line that starts with
    `{` is an event named `unframed`.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._after_cr = False
        self._at_start = True
        self._name = ""
        self._data: list[str] = []
        self._data_bytes = 0
        self.overflowed = False
        """True once a line or an event was too long: nothing after it is read."""

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the events that `chunk` completes, in order."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        if not chunk or self.overflowed:
            return []
        self._after_cr = chunk.endswith(b"\r")
        pieces = _LINE_END.split(chunk)
        events: list[SseEvent] = []
        for piece in pieces[:-1]:
            self._keep(piece)
            self._end_line(events)
        self._keep(pieces[-1])
        return events

    def finish(self) -> list[SseEvent]:
        """Return the event that the end of the stream completes, if there is one."""
        events: list[SseEvent] = []
        self._end_line(events)
        if not self.overflowed:
            self._dispatch(events)
        return events

    def _keep(self, piece: bytes) -> None:
        if self.overflowed:
            return
        self._pending.append(piece)
        self._pending_bytes += len(piece)
        if self._pending_bytes > self._max_event_bytes:
            self.overflowed = True
            self._pending.clear()

    def _end_line(self, events: list[SseEvent]) -> None:
        if self.overflowed:
            return
        line = b"".join(self._pending)
        self._pending.clear()
        self._pending_bytes = 0
        if self._at_start:
            line = line.removeprefix(_BOM)
            self._at_start = False
        if line:
            self._read_field(line, events)
        else:
            self._dispatch(events)

    def _read_field(self, line: bytes, events: list[SseEvent]) -> None:
        if line.startswith(b"{"):
            events.append(SseEvent("unframed", line.decode("utf-8", "replace")))
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._add_data(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field == b"error":
            events.append(SseEvent("error", value.decode("utf-8", "replace")))

    def _add_data(self, value: bytes) -> None:
        self._data_bytes += len(value) + 1
        if self._data_bytes > self._max_event_bytes:
            self.overflowed = True
            return
        self._data.append(value.decode("utf-8", "replace"))

    def _dispatch(self, events: list[SseEvent]) -> None:
        if self._data:
            events.append(SseEvent(self._name, "\n".join(self._data)))
        self._name = ""
        self._data = []
        self._data_bytes = 0
