"""Model lists and plain JSON requests."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kvtop.api.client import ApiClient
from kvtop.api.exchange import ModelInfo, ModelList
from kvtop.api.model_list import read_models
from kvtop.model.failure import Failure
from tests.api.asking import KEY, endpoint
from tests.api.raw_server import End, RawServer, answer

SAMPLES = Path(__file__).parent / "samples"


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("vllm-0.32.0", ModelInfo("tiny", 32768, "vllm")),
        ("llama-server-b11434", ModelInfo("tiny", 65536, "llamacpp")),
    ],
)
async def test_real_lists(server: RawServer, name: str, model: ModelInfo) -> None:
    server.play(answer(200, (SAMPLES / f"{name}-models.json").read_bytes()))
    async with ApiClient(endpoint(server)) as client:
        assert await client.models() == ModelList((model,))
    assert (server.requests[0].method, server.requests[0].target) == ("GET", "/v1/models")


@pytest.mark.parametrize(
    ("document", "ids"),
    [
        ({"data": []}, ()),
        ({"data": [{"id": "a"}, {"id": 5}, None, "b", {}]}, ("a", "b")),
        ({"models": [{"name": "a"}]}, ("a",)),
        ([{"id": "a"}], ("a",)),
        ({"data": [{"id": "a\x1b[31mb"}]}, ("ab",)),
        ({"data": {"a": 1}}, None),
        ({"data": [{}]}, None),
        ({"hello": 1}, None),
        (None, None),
    ],
)
def test_shapes(document: Any, ids: tuple[str, ...] | None) -> None:
    models = read_models(document, lambda text: text.replace("\x1b[31m", ""))
    assert (models.ids if models else None) == ids


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (answer(200, b"<html>", "text/html"), "not_openai"),
        (answer(200, b'{"hello":1}'), "not_openai"),
        (answer(200, b'{"error":"Unauthorized"}'), "not_openai"),
        (answer(401, b'{"error":"Unauthorized"}'), "auth"),
        (answer(404, b'{"detail":"Not Found"}'), "path_not_found"),
        (answer(302, b"", location="/login"), "redirected"),
        (End.CLOSE, "connection_lost"),
    ],
)
async def test_no_list(server: RawServer, body: Any, code: str) -> None:
    server.play(body)
    server.play(body)
    async with ApiClient(endpoint(server)) as client:
        failure = await client.models()
    assert isinstance(failure, Failure)
    assert failure.code == code


async def test_post_json_goes_beside_v1(server: RawServer) -> None:
    server.play(answer(200, b'{"count":3}'))
    async with ApiClient(endpoint(server, base_url=f"{server.url}/sub/v1/")) as client:
        reply = await client.post_json("/tokenize", {"prompt": "é"})
    assert (reply.status, reply.data, reply.failure) == (200, {"count": 3}, None)
    sent = server.requests[0]
    assert (sent.method, sent.target, sent.json) == ("POST", "/sub/tokenize", {"prompt": "é"})
    assert sent.headers["content-type"] == "application/json"
    assert sent.headers["authorization"] == f"Bearer {KEY}"


async def test_get_json_error_keeps_the_document(server: RawServer) -> None:
    server.play(answer(404, b'{"detail":"Not Found"}'))
    async with ApiClient(endpoint(server)) as client:
        reply = await client.get_json("/props")
    assert (reply.status, reply.data) == (404, {"detail": "Not Found"})
    assert reply.failure is not None


async def test_too_slow(server: RawServer) -> None:
    server.play(asyncio.Event())
    async with ApiClient(endpoint(server), timeout_s=0.05) as client:
        reply = await client.get_json("/props")
    assert reply.failure is not None
    assert reply.failure.code == "timeout"


async def test_too_large(server: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvtop.api.json_request.MAX_BODY_BYTES", 1000)
    server.play(answer(200, b'"' + b"x" * 5000 + b'"'))
    async with ApiClient(endpoint(server)) as client:
        reply = await client.get_json("/props")
    assert reply.failure is not None
    assert reply.failure.code == "oversized"
