"""What an experiment tells its runner while it measures."""

from __future__ import annotations

from typing import Any, Protocol

from kvtop.model.record import RequestRecord


class ExperimentLog(Protocol):
    """Receives everything an experiment has to say; whoever implements it writes it down at once."""

    def cell(self, cell: str, **data: Any) -> None:
        """Announce that the request of `cell` is about to be sent."""

    def request(self, record: RequestRecord) -> None:
        """Keep a finished request. Returns when it is on disk."""

    def note(self, code: str, text: str, **data: Any) -> None:
        """Keep a remark about the run, e.g. the base window or a skipped length."""

    def progress(
        self, done: int, total: int, elapsed_s: float, left_s: float | None, spent_tokens: int
    ) -> None:
        """Tell how far the run is."""

    def remember(self, **context: Any) -> None:
        """Keep values that a resumed run needs, such as the calibrated length model."""

    def analyse(self) -> None:
        """Rebuild the findings from what is on disk now."""
