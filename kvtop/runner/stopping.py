"""Signals of a runner: stop and keep the data, or outlive the terminal."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_on_signal(task: asyncio.Task[Any] | None) -> Iterator[None]:
    """Cancel `task` on the first SIGINT or SIGTERM; ignore SIGHUP, so that a dropped SSH link stops nothing.

    A second signal has its default effect, for a user who will not wait.
    """
    loop = asyncio.get_running_loop()

    def stop() -> None:
        for number in STOPPING:
            loop.remove_signal_handler(number)
        if task is not None:
            task.cancel()

    for number in STOPPING:
        loop.add_signal_handler(number, stop)
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        for number in STOPPING:
            loop.remove_signal_handler(number)
        signal.signal(signal.SIGHUP, previous)
