"""What is known of the engine behind an endpoint, asked again and again."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kvtop.model.failure import Failure
from kvtop.model.text import clean_text
from kvtop.ui.feeds.model_card import choose_card
from kvtop.ui.messages import EngineSeen, EngineView

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx
    from textual.message import Message

    from kvtop.model.endpoint import Endpoint
    from kvtop.telemetry.processes import ProcessTree
    from kvtop.ui.feeds.engine_client import Answer, EngineClient

LOCAL_INTERVAL_S = 2.0
REMOTE_INTERVAL_S = 30.0
"""Somebody else's server is not asked more often than that."""
SEARCH_INTERVAL_S = 10.0
"""Time between two searches for the engine's process, which look at every socket of the host."""


class EngineFeed:
    """Posts an `EngineSeen` whenever the view has changed; does nothing without an endpoint.

    Only the endpoint's own origin is asked. HTTP, TLS and psutil are loaded in the feed's own thread, a
    daemon, so neither the first paint nor the end of the app waits for them.
    """

    def __init__(
        self,
        post: Callable[[Message], object],
        endpoint: Endpoint | None,
        *,
        interval_s: float | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._post = post
        self._endpoint = endpoint
        self._interval_s = interval_s
        self._transport = transport
        self._tree: ProcessTree | None = None
        self._search_at = float("-inf")
        self._stopping = threading.Event()

    def start(self) -> None:
        """Begin to ask."""
        if self._endpoint is not None:
            thread = threading.Thread(
                target=self._run, args=(self._endpoint,), name="kvtop-engine-feed", daemon=True
            )
            thread.start()

    def stop(self) -> None:
        """Ask no more. Returns at once; a question that is on its way is left behind."""
        self._stopping.set()

    def _run(self, endpoint: Endpoint) -> None:
        from kvtop.ui.feeds import engine_client as http  # late: after the first paint

        first = _unasked(endpoint, is_local=http.is_loopback(endpoint.base_url))
        self._tell(first)
        try:
            client = http.EngineClient(endpoint, self._transport)
        except http.UNUSABLE_SETTINGS as error:
            failure = Failure.of(
                "proxy",
                f"The engine cannot be asked: {error}",
                "Check HTTP_PROXY, NO_PROXY and SSL_CERT_FILE.",
            )
            self._tell(replace(first, failure=failure))
            return
        self._watch(endpoint, client, first)
        client.close()

    def _watch(self, endpoint: Endpoint, client: EngineClient, last: EngineView) -> None:
        is_local = last.path == "local"
        interval_s = self._interval_s or (LOCAL_INTERVAL_S if is_local else REMOTE_INTERVAL_S)
        while not self._stopping.is_set():
            answer = client.ask()
            rss_bytes = self._rss_bytes(endpoint) if is_local else None
            view = _view(endpoint, answer, rss_bytes, last)
            if view != last:
                self._tell(view)
                last = view
            self._stopping.wait(interval_s)

    def _tell(self, view: EngineView) -> None:
        if not self._stopping.is_set():
            with suppress(RuntimeError):  # the app's event loop has just ended
                self._post(EngineSeen(view))

    def _rss_bytes(self, endpoint: Endpoint) -> int | None:
        """Return the resident memory of the engine's processes, None when they are not known."""
        from kvtop.telemetry.processes import ProcessTree

        now = time.monotonic()
        if self._tree is None and now >= self._search_at:
            self._search_at = now + SEARCH_INTERVAL_S
            pid = _engine_pid(endpoint)
            self._tree = ProcessTree(pid) if pid is not None else None
        if self._tree is None:
            return None
        sizes = [memory.rss_bytes for memory in self._tree.read(now)]
        if not sizes:
            self._tree = None
        known = [size for size in sizes if size is not None]
        return sum(known) if known else None


def _engine_pid(endpoint: Endpoint) -> int | None:
    from kvtop.telemetry.processes import find_listener

    if endpoint.engine.pid is not None:
        return endpoint.engine.pid
    try:
        parts = urlsplit(endpoint.base_url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme.lower())
    except ValueError:
        return None
    return None if port is None else find_listener(port)


def _unasked(endpoint: Endpoint, *, is_local: bool) -> EngineView:
    return EngineView(
        name="SIMULATED engine" if endpoint.simulated else None,
        model=clean_text(endpoint.model) or None,
        base_url=clean_text(endpoint.base_url),
        path="local" if is_local else "api",
        context_tokens=endpoint.context_window,
        rss_bytes=None,
        answers=None,
        failure=None,
    )


def _view(endpoint: Endpoint, answer: Answer, rss_bytes: int | None, last: EngineView) -> EngineView:
    """Return what is known now; an engine that is away keeps its name, model and context."""
    card = choose_card(answer.cards, endpoint.model)
    engine = next((card.engine for card in answer.cards if card.engine), None)
    return EngineView(
        name=engine or last.name,
        model=last.model or (card.model if card else None),
        base_url=last.base_url,
        path=last.path,
        context_tokens=(card.context_tokens if card else None) or last.context_tokens,
        rss_bytes=rss_bytes,
        answers=answer.answers,
        failure=answer.failure,
    )
