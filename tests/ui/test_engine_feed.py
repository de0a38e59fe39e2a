"""The engine feed: answers of real servers, keys where they belong, and servers that misbehave."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from textual.message import Message

from kvtop.model.endpoint import Endpoint
from kvtop.model.secret import Secret
from kvtop.simulator.process import start_simulator
from kvtop.ui.feeds.engine import EngineFeed
from kvtop.ui.feeds.engine_client import EngineClient, is_loopback, models_url
from kvtop.ui.feeds.model_card import ModelCard, choose_card, read_cards
from kvtop.ui.messages import EngineSeen, EngineView

PATIENCE_S = 20.0
SAMPLES = Path(__file__).parents[1] / "api" / "samples"
LOCAL = "http://127.0.0.1:8000"
KEY = "sk-0123456789abcdef"
Handler = Callable[[httpx.Request], httpx.Response]


@contextmanager
def watching(endpoint: Endpoint | None, handler: Handler | None = None) -> Iterator[queue.Queue[EngineView]]:
    views: queue.Queue[EngineView] = queue.Queue()

    def post(message: Message) -> None:
        assert isinstance(message, EngineSeen)
        views.put(message.view)

    transport = httpx.MockTransport(handler) if handler else None
    feed = EngineFeed(post, endpoint, interval_s=0.01, transport=transport)
    feed.start()
    yield views
    feed.stop()


def second(views: queue.Queue[EngineView]) -> EngineView:
    """Return the first view after the one that is told before anything was asked."""
    assert views.get(timeout=PATIENCE_S).answers is None
    return views.get(timeout=PATIENCE_S)


def ask(handler: Handler, **fields: object) -> tuple[bool, str | None]:
    endpoint = Endpoint(**{"base_url": LOCAL, "model": "m", **fields})  # type: ignore[arg-type]  # a dict of many types
    client = EngineClient(endpoint, httpx.MockTransport(handler))
    answer = client.ask()
    client.close()
    return answer.answers, answer.failure.code if answer.failure else None


@pytest.mark.parametrize(
    ("sample", "card"),
    [
        ("vllm-0.32.0-models.json", ModelCard("tiny", "vLLM", 32768)),
        ("llama-server-b11434-models.json", None),
    ],
)
def test_lists_of_real_servers(sample: str, card: ModelCard | None) -> None:
    (found,) = read_cards((SAMPLES / sample).read_bytes())
    assert card is None or found == card
    assert found.engine in ("vLLM", "llama.cpp")
    assert found.context_tokens


def test_simulator_is_seen_with_its_process_memory() -> None:
    with start_simulator() as simulator, watching(Endpoint(simulator.base_url, "", simulated=True)) as views:
        first = views.get(timeout=PATIENCE_S)
        while (view := views.get(timeout=PATIENCE_S)).rss_bytes is None:
            pass
    assert (first.name, first.answers, first.path) == ("SIMULATED engine", None, "local")
    assert (view.name, view.model, view.answers) == ("SIMULATED engine", simulator.model, True)
    assert view.context_tokens
    assert view.rss_bytes > 1_000_000


def test_engine_that_went_away_keeps_its_name() -> None:
    body = (SAMPLES / "vllm-0.32.0-models.json").read_bytes()
    asked: list[None] = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(None)
        if len(asked) > 1:
            raise httpx.ConnectError("connection refused")
        return httpx.Response(200, content=body)

    with watching(Endpoint(LOCAL, "tiny"), handler) as views:
        seen = second(views)
        while (away := views.get(timeout=PATIENCE_S)).answers:
            pass
    assert (seen.name, seen.context_tokens, seen.answers) == ("vLLM", 32768, True)
    assert (away.name, away.context_tokens, away.answers) == ("vLLM", 32768, False)
    assert away.failure is not None
    assert away.failure.code == "unreachable"


def test_without_an_endpoint_nothing_is_told() -> None:
    with watching(None) as views, pytest.raises(queue.Empty):
        views.get_nowait()


def test_key_is_sent_only_after_it_was_asked_for_and_only_there() -> None:
    sent: list[tuple[str, str | None]] = []

    def handler(request: httpx.Request) -> httpx.Response:
        sent.append((str(request.url), request.headers.get("authorization")))
        ok = "authorization" in request.headers
        return httpx.Response(200 if ok else 401, json={"data": []})

    assert ask(handler, key=Secret(KEY), base_url="https://api.example.com/v1") == (True, None)
    url = "https://api.example.com/v1/models"
    assert sent == [(url, None), (url, f"Bearer {KEY}")]


def test_open_engine_never_sees_the_key() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        assert KEY not in str(request.headers)
        return httpx.Response(200, json={"data": []})

    assert ask(handler, key=Secret(KEY), headers={"x-team": KEY}) == (True, None)


def test_messages_dialect_has_its_own_header() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200 if request.headers.get("x-api-key") == KEY else 403, json={"data": []})

    assert ask(handler, key=Secret(KEY), dialect="anthropic-messages") == (True, None)


def test_redirects_are_not_followed() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        assert request.url.host == "127.0.0.1"
        return httpx.Response(302, headers={"location": "https://elsewhere.example/v1/models"})

    assert ask(handler, key=Secret(KEY)) == (True, "no_models")


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, b"", (True, "auth")),
        (404, b"not found", (True, "no_models")),
        (503, b'{"error":"Loading model"}', (False, "engine_error")),
        (200, b"", (True, "no_models")),
        (200, b"<html>", (True, "no_models")),
        (200, b"\xff\xfe", (True, "no_models")),
        (200, b"[" * 100_000, (True, "no_models")),
        (200, b'{"data": {}}', (True, "no_models")),
        (200, b'{"data": [1, null, {}, {"id": null}]}', (True, None)),
        (200, b"x" * 3_000_000, (False, "unreachable")),
    ],
)
def test_strange_answers(status: int, body: bytes, expected: tuple[bool, str | None]) -> None:
    assert ask(lambda request: httpx.Response(status, content=body)) == expected


def test_failure_text_holds_no_key_and_no_escape() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError(f"\x1b]0;owned\x07 {KEY} refused")

    client = EngineClient(Endpoint(LOCAL, "m", key=Secret(KEY)), httpx.MockTransport(handler))
    failure = client.ask().failure
    client.close()
    assert failure is not None
    assert KEY not in failure.text
    assert "\x1b" not in failure.text


@pytest.mark.parametrize("base_url", ["http://", "http://127.0.0.1:notaport", "nonsense", "http://[::1"])
def test_unusable_address_is_a_failure(base_url: str) -> None:
    with watching(Endpoint(base_url, "m")) as views:
        view = second(views)
    assert view.failure is not None
    assert view.answers in (None, False)


def test_unusable_proxy_settings_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "no-such-scheme://proxy")
    with watching(Endpoint("https://api.example.com", "m")) as views:
        view = second(views)
    assert view.failure is not None
    assert view.failure.code == "proxy"


def test_hostile_names_are_cleaned() -> None:
    (card,) = read_cards(b'{"data":[{"id":"\\u001b[2Jevil\\u202e[/]","owned_by":"\\u001b[2J"}]}')
    assert card == ModelCard("evil[/]", None, None)


def test_the_wanted_model_is_chosen() -> None:
    cards = (ModelCard("a", None, 1), ModelCard("b", None, 2))
    assert choose_card(cards, "b") == cards[1]
    assert choose_card(cards, "c") is None
    assert choose_card(cards[:1], "c") == cards[0]
    assert choose_card((), "c") is None


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        (LOCAL, "/v1/models", f"{LOCAL}/v1/models"),
        (f"{LOCAL}/v1/", "/v1/models", f"{LOCAL}/v1/models"),
        ("https://x.example/api/paas/v4", "/v1/models", "https://x.example/api/paas/v4/models"),
        ("https://x.example/v1beta/openai", "/v1/models", "https://x.example/v1beta/openai/models"),
        (LOCAL, "models", f"{LOCAL}/models"),
    ],
)
def test_models_url(base: str, path: str, url: str) -> None:
    assert models_url(base, path) == url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:1", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:8000", True),
        ("http://gpu.localhost", True),
        ("http://10.0.0.1", False),
        ("https://localhost.example.com", False),
        ("nonsense", False),
    ],
)
def test_loopback(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected
