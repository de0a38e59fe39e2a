"""Keeps the messages of a feed and waits for the one that a test is about."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtop.ui.messages import Told

T = TypeVar("T")
LONGEST_WAIT_S = 20.0


class ToldMessages:
    """The receiver of a feed's messages."""

    def __init__(self) -> None:
        self.all: list[Told] = []
        self._changed = threading.Condition()

    def post(self, message: Told) -> None:
        """Keep a message; what a feed is given as `post`."""
        with self._changed:
            self.all.append(message)
            self._changed.notify_all()

    def of(self, kind: type[T]) -> list[T]:
        """Return the messages of one kind so far."""
        with self._changed:
            return [message for message in self.all if isinstance(message, kind)]

    def wait_for(self, kind: type[T], fits: Callable[[T], bool] = lambda _: True) -> T:
        """Return the first message of `kind` that fits, waiting for it."""

        def found() -> T | None:
            return next((m for m in self.all if isinstance(m, kind) and fits(m)), None)

        with self._changed:
            message = self._changed.wait_for(found, LONGEST_WAIT_S)
            assert message is not None, f"no such {kind.__name__} among {self.all}"
            return message
