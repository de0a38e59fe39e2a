import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtop.api.failures import in_stream_error, oversized, redirected, refusal, truncated, unexpected_answer
from kvtop.api.peer import Peer
from kvtop.model.endpoint import Endpoint
from kvtop.model.secret import Secret

KEY = "sk-live-0123456789abcdef"
PEER = Peer.of(
    Endpoint(
        "http://h:8000/v1", "tiny", key=Secret(KEY), key_origin="env K", headers={"x-token": "T0kenT0ken"}
    )
)
HTML = b"<!DOCTYPE html><html><head><title>502 Bad &amp; Gateway</title></head><body>nginx</body></html>"


def wrapped(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


@pytest.mark.parametrize(
    ("status", "body", "code", "said"),
    [
        (
            401,
            wrapped("Invalid Authentication", type="invalid_authentication_error"),
            "auth",
            "Invalid Authentication",
        ),
        (401, wrapped("Authentication Fails", code="invalid_request_error"), "auth", "Authentication Fails"),
        (401, {"error": "Unauthorized"}, "auth", "Unauthorized"),
        (401, {"message": "no key", "type": "x"}, "auth", "no key"),
        (403, {"error": "Forbidden"}, "auth", "Forbidden"),
        (
            400,
            {"code": "invalid-argument", "error": "Incorrect API key provided: xx***yy."},
            "auth",
            "Incorrect",
        ),
        (400, [wrapped("API key not valid. Please pass a valid API key.", code=400)], "auth", "not valid"),
        (200, {"error": {"message": "无效的令牌", "type": "new_api_error"}}, "auth", "无效的令牌"),
        (
            400,
            {"error": {"message": "无效的令牌 (request id: 1)", "type": "new_api_error"}},
            "auth",
            "无效的令牌",
        ),
        (
            401,
            {"code": "InvalidApiKey", "message": "Invalid API-key provided.", "request_id": "1"},
            "auth",
            "Invalid",
        ),
        (
            404,
            wrapped("The model `X` does not exist.", type="NotFoundError", code=404),
            "model_not_found",
            "`X`",
        ),
        (404, {"error": 'model "x" not found, try pulling it first'}, "model_not_found", "pulling"),
        (400, wrapped("Model Not Exist", type="invalid_request_error"), "model_not_found", "Model Not Exist"),
        (400, wrapped("foo is not a valid model ID", code=400), "model_not_found", "foo"),
        (404, wrapped("gone", code="model_not_found"), "model_not_found", "gone"),
        (503, wrapped("无可用渠道", code="x"), "model_not_found", "无可用渠道"),
        (404, {"detail": "Not Found"}, "path_not_found", "Not Found"),
        (404, wrapped("File Not Found", type="not_found_error", code=404), "path_not_found", "File"),
        (405, {"detail": "Method Not Allowed"}, "path_not_found", "Method"),
        (
            429,
            wrapped("Rate limit reached for requests", code="rate_limit_exceeded"),
            "rate_limited",
            "Rate limit",
        ),
        (429, b"", "rate_limited", "(HTTP 429)."),
        (429, {"error": {"code": "1302", "message": "并发数过高"}}, "rate_limited", "并发数过高"),
        (
            429,
            [wrapped("You exceeded your current quota", code=429, status="RESOURCE_EXHAUSTED")],
            "rate_limited",
            "quota",
        ),
        (429, wrapped("You exceeded your current quota", type="insufficient_quota"), "quota", "exceeded"),
        (429, {"error": {"code": "1113", "message": "欠费"}}, "quota", "欠费"),
        (402, wrapped("Insufficient Balance", type="unknown_error"), "quota", "Insufficient Balance"),
        (400, {"code": "Arrearage", "message": "Access denied"}, "quota", "Access denied"),
        (403, wrapped("用户额度不足", code="insufficient_user_quota"), "quota", "用户额度不足"),
        (200, {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, "quota", "balance"),
        (200, {"base_resp": {"status_code": 1004, "status_msg": "login fail"}}, "auth", "login fail"),
        (
            529,
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            "overloaded",
            "Over",
        ),
        (503, wrapped("Loading model", type="unavailable_error", code=503), "overloaded", "Loading model"),
        (429, {"error": "Model is overloaded", "error_type": "overloaded"}, "overloaded", "Model"),
        (
            422,
            {"error": "Template error: x", "error_type": "template_error"},
            "bad_request",
            "Template error",
        ),
        (
            422,
            {"detail": [{"loc": ["body", "max_tokens"], "msg": "must be > 0"}, {"msg": "two"}]},
            "bad_request",
            "body.max_tokens: must be > 0; two",
        ),
        (400, {"detail": {"error": "nested"}}, "bad_request", "nested"),
        (
            400,
            {"object": "error", "message": "bad", "type": "BadRequestError", "code": 400},
            "bad_request",
            "bad",
        ),
        (400, {"errors": [{"message": "first"}, {"message": "second"}]}, "bad_request", "first"),
        (413, HTML.replace(b"502 Bad &amp; Gateway", b"413"), "request_too_large", "413"),
        (500, wrapped("KV cache full", type="server_error", code=500), "server_error", "KV cache full"),
        (502, HTML, "server_error", "502 Bad & Gateway"),
        (502, b"", "server_error", "(HTTP 502)."),
        (524, b"error code: 524", "server_error", "error code: 524"),
        (403, HTML, "not_openai", "502 Bad"),
        (200, HTML, "not_openai", "502 Bad"),
        (200, {"hello": "world"}, "not_openai", ""),
        (
            400,
            wrapped(
                'litellm.BadRequestError: OpenAIException - {"error":{"message":"bad field","code":"x"}} M',
                code="400",
            ),
            "bad_request",
            "litellm.BadRequestError: OpenAIException: bad field",
        ),
        (
            402,
            wrapped(
                "Provider returned error", code=402, metadata={"raw": '{"error":{"message":"no credits"}}'}
            ),
            "quota",
            "Provider returned error: no credits",
        ),
    ],
)
def test_refusals(status: int, body: Any, code: str, said: str) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    failure = unexpected_answer(status, data, PEER) if status == 200 else refusal(status, {}, data, PEER)
    assert failure.code == code
    assert said in failure.text
    assert failure.status == status
    assert failure.hint


@pytest.mark.parametrize(
    ("status", "body", "limit", "asked"),
    [
        (
            400,
            wrapped("too long", type="exceed_context_size_error", n_ctx=4096, n_prompt_tokens=5000),
            4096,
            5000,
        ),
        (400, wrapped("request (5000 tokens) exceeds the available context size (4096 tokens)"), 4096, 5000),
        (400, wrapped("please shorten", code="context_length_exceeded"), None, None),
        (400, {"error": {"code": "1261", "message": "Prompt 超长"}}, None, None),
        (
            413,
            {"error": {"type": "request_too_large", "message": "prompt is too long: 9 tokens > 8 maximum"}},
            8,
            9,
        ),
        (
            422,
            {"error": "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 8740 `inputs`"},
            4096,
            8740,
        ),
        (500, wrapped("The input (9 tokens) is longer than the model's context length (8 tokens)."), 8, 9),
    ],
)
def test_context_length(status: int, body: Any, limit: int | None, asked: int | None) -> None:
    failure = refusal(status, {}, json.dumps(body).encode(), PEER)
    assert (failure.code, failure.limit_tokens, failure.asked_tokens) == ("context_length", limit, asked)


def test_retry_after_comes_along() -> None:
    assert refusal(429, {"retry-after-ms": "1500"}, b"{}", PEER).retry_after_s == 1.5


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"error": {"code": 429, "message": "slow down"}}, "rate_limited"),
        ({"error": {"code": 502, "message": "Provider disconnected"}}, "in_stream_error"),
        ({"object": "error", "message": "boom", "code": 400}, "in_stream_error"),
        ({"error": {"type": "overloaded_error", "message": "busy"}}, "overloaded"),
        ({"error": {"message": "x", "code": 400, "n_ctx": 5, "n_prompt_tokens": 9}}, "context_length"),
        ("plain words", "in_stream_error"),
        ({}, "in_stream_error"),
        ([], "in_stream_error"),
        (7, "in_stream_error"),
    ],
)
def test_errors_inside_a_stream(error: Any, code: str) -> None:
    failure = in_stream_error(error, 200, PEER)
    assert (failure.code, failure.status) == (code, 200)


def test_no_key_in_any_text() -> None:
    for shown in (KEY, KEY[:12], "x" + KEY[3:], "T0kenT0ken", "sk-live\x1b[0m-0123456789abcdef"):
        failure = refusal(401, {}, json.dumps(wrapped(f"bad key {shown}")).encode(), PEER)
        assert "0123456789" not in str(failure)
        assert "T0kenT0ken" not in str(failure)
        assert "bad key" in failure.text


def test_no_control_characters_in_any_text() -> None:
    failure = refusal(400, {}, json.dumps(wrapped("a\x1b]0;owned\x07b\n\u202ec\x00")).encode(), PEER)
    assert "abc" in failure.text.replace(" ", "")
    assert failure.text.isprintable()
    assert len(refusal(400, {}, b"x" * 100_000, PEER).text) <= 500


def test_auth_says_where_the_key_came_from() -> None:
    hint = refusal(401, {}, b"{}", PEER).hint
    assert "env K" in hint
    assert "http://h:8000" in hint


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://other.example/v1/chat?key=secret", "https://other.example/v1/chat "),
        ("/login", "http://h:8000/login "),
        ("https://u:p@other.example/", "https://other.example/ "),
        ("", "nowhere"),
        ("http://[bad", "an invalid address"),
    ],
)
def test_redirect_names_the_target(location: str, shown: str) -> None:
    failure = redirected(308, location, "http://h:8000/v1/chat", PEER)
    assert failure.code == "redirected"
    assert shown in failure.text
    assert "secret" not in failure.text


def test_other_ends() -> None:
    assert truncated(200).code == "truncated"
    assert "4,096" in oversized(200, 4096).text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "error",
                    "message",
                    "detail",
                    "errors",
                    "code",
                    "type",
                    "base_resp",
                    "metadata",
                    "raw",
                    "loc",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.integers(400, 599), JSON)
def test_no_body_raises(status: int, body: Any) -> None:
    for failure in (
        refusal(status, {}, json.dumps(body).encode(), PEER),
        unexpected_answer(200, json.dumps(body).encode(), PEER),
        in_stream_error(body, None, PEER),
    ):
        assert failure.code
        assert failure.text.isprintable()


@given(st.binary(max_size=60))
def test_no_bytes_raise(body: bytes) -> None:
    assert refusal(500, {}, body, PEER).code
    assert unexpected_answer(200, body, PEER).code


def test_deep_nesting_is_harmless() -> None:
    for body in (
        b"[" * 100_000,
        b'{"error":' * 100_000,
        b'{"error":{"message":"' + b'{\\"a\\":' * 9999 + b'"}}',
    ):
        assert refusal(400, {}, body, PEER).code == "bad_request"


def test_a_page_of_titles_that_never_end_is_read_at_once() -> None:
    body = b"<html>" + b"<title>" * 400_000
    failure = refusal(502, {}, body, PEER)
    assert failure.status == 502
