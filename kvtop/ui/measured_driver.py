"""Textual's driver, with a clock on what the terminal takes."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import App

    from kvtop.ui.pace import Pace


class MeasuredOutput:
    """A file that tells a `Pace` when writes have reached the terminal and how long that took."""

    def __init__(self, file: TextIO, pace: Pace) -> None:
        self._file = file
        self._pace = pace
        self._unflushed = 0
        self.busy_since: float | None = None
        """When the write that is going on began (monotonic), or None."""

    def write(self, text: str) -> int:
        """Write, and count."""
        self._unflushed += 1
        with self._timed(0):
            return self._file.write(text)

    def flush(self) -> None:
        """Flush; what was written until now is on the terminal then."""
        writes, self._unflushed = self._unflushed, 0
        with self._timed(writes):
            self._file.flush()

    def fileno(self) -> int:
        """Return the descriptor of the terminal."""
        return self._file.fileno()

    @contextmanager
    def _timed(self, writes: int) -> Iterator[None]:
        self.busy_since = began = time.monotonic()
        try:
            yield
        finally:
            self.busy_since = None
            self._pace.taken(writes, time.monotonic() - began)


class MeasuredDriver(LinuxDriver):
    """Draws on a terminal as `LinuxDriver` does. The app it belongs to has a `pace`."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._pace = cast("Pace", app.pace)  # type: ignore[attr-defined]  # only KvtopApp has this driver
        self.output = MeasuredOutput(cast("TextIO", self._file), self._pace)
        self._file = cast("Any", self.output)

    @property
    def held_up_s(self) -> float:
        """How long the write that is going on has been held up, in seconds."""
        since = self.output.busy_since
        return 0.0 if since is None else time.monotonic() - since

    def write(self, data: str) -> None:
        """Hand over to the writer."""
        self._pace.queued()
        super().write(data)

    def start_application_mode(self) -> None:
        """Take the terminal; nothing waits for it yet."""
        self._pace.forget()
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual has no hints here
