from __future__ import annotations

import pytest

from kvtop.providers.urls import (
    checked_base_url,
    checked_path,
    checked_url,
    sends_in_the_clear,
    without_version,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://taotoken.net/api", "https://taotoken.net/api"),
        ("https://taotoken.net/api/", "https://taotoken.net/api"),
        ("http://127.0.0.1:8000//", "http://127.0.0.1:8000"),
        ("HTTP://[::1]:8080", "HTTP://[::1]:8080"),
        ("https://open.example.cn/api/paas/v4", "https://open.example.cn/api/paas/v4"),
        ("https://x.example/responses-api", "https://x.example/responses-api"),
    ],
)
def test_good_base_urls(text: str, expected: str) -> None:
    assert checked_base_url(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("localhost:8000", "must start with"),
        ("api.example.com", "must start with"),
        ("ftp://x.example", "must start with"),
        ("file:///etc/passwd", "must start with"),
        ("https://", "must start with"),
        ("https://:8000", "names no host"),
        ("https://x.example:notaport", "cannot be read"),
        ("https://x.example:99999", "cannot be read"),
        ("https://x.example:0", "cannot be read"),
        ("https://[::1", "cannot be read"),
        ("https://ada:sk-secret@x.example", "no key"),
        ("https://sk-secret@x.example", "no key"),
        ("https://x.example/?key=sk-secret", "no ?"),
        ("https://x.example/#sk-secret", "no #"),
        ("https://x.example/v1/chat/completions", "path of one endpoint"),
        ("https://x.example/v1/messages/", "path of one endpoint"),
        ("https://x.example/v1/models", "path of one endpoint"),
        ("'https://x.example'", "quote"),
        (" https://x.example", "white space"),
        ("https://x.example\nHost: evil", "white space"),
        ("https://x.exаmple", "character"),
        ("https://x.example\\@evil.example", "character"),
        ("", "must start with"),
    ],
)
def test_bad_base_urls_are_not_repeated(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("?", r"\?")) as caught:
        checked_base_url(text)
    assert "secret" not in str(caught.value)


def test_other_urls_may_have_a_query() -> None:
    assert checked_url("http://127.0.0.1:8000/metrics?x=1") == "http://127.0.0.1:8000/metrics?x=1"


@pytest.mark.parametrize("text", ["/v1/chat/completions", "/openai/deployments/m/chat?api-version=1", "/"])
def test_good_paths(text: str) -> None:
    assert checked_path(text) == text


@pytest.mark.parametrize(
    "text", ["", "v1/models", "//evil.example/v1", "https://evil.example", "/a b", "/a#b", "/\n"]
)
def test_paths_cannot_leave_the_host(text: str) -> None:
    with pytest.raises(ValueError, match="joined to base_url"):
        checked_path(text)


@pytest.mark.parametrize(
    ("base", "paths", "expected"),
    [
        ("https://x.example/v1", (), "https://x.example"),
        ("https://x.example/api/v1", ("/v1/chat/completions",), "https://x.example/api"),
        ("https://x.example/v1", ("/chat/completions",), "https://x.example/v1"),
        ("https://x.example/v1", ("/v1/models", "/chat"), "https://x.example/v1"),
        ("https://x.example/apiv1", (), "https://x.example/apiv1"),
    ],
)
def test_without_version(base: str, paths: tuple[str, ...], expected: str) -> None:
    assert without_version(base, paths) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8000", False),
        ("http://127.1.2.3", False),
        ("http://localhost", False),
        ("http://[::1]:1", False),
        ("https://x.example", False),
        ("http://x.example", True),
        ("http://10.0.0.5:8000", True),
        ("HTTP://localhost.evil.example", True),
    ],
)
def test_sends_in_the_clear(url: str, expected: bool) -> None:
    assert sends_in_the_clear(url) is expected
