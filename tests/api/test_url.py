import pytest

from kvtop.api.url import check_base_url, is_loopback, join_url, origin, root_url
from kvtop.model.failure import KvtopError

CHAT = "/v1/chat/completions"


@pytest.mark.parametrize(
    ("base", "path", "joined"),
    [
        ("http://h:8000", CHAT, "http://h:8000/v1/chat/completions"),
        ("http://h:8000/", CHAT, "http://h:8000/v1/chat/completions"),
        ("http://h:8000/v1", CHAT, "http://h:8000/v1/chat/completions"),
        ("http://h/api/v1/", CHAT, "http://h/api/v1/chat/completions"),
        ("https://x/api", CHAT, "https://x/api/v1/chat/completions"),
        ("https://x/api", "v1/models", "https://x/api/v1/models"),
        ("https://x/api/v1", "/chat/completions", "https://x/api/v1/chat/completions"),
        ("https://x/api/paas/v4", CHAT, "https://x/api/paas/v4/chat/completions"),
        ("https://x/v1beta/openai/", CHAT, "https://x/v1beta/openai/chat/completions"),
        ("https://x/v10x", CHAT, "https://x/v10x/v1/chat/completions"),
        ("http://h/v1/chat/completions", CHAT, "http://h/v1/chat/completions"),
        ("http://h/v1/chat/completions", "/v1/models", "http://h/v1/models"),
        ("http://h/models", "/chat/completions", "http://h/models/chat/completions"),
        ("http://h/v1?api-version=1", "/v1/models", "http://h/v1/models?api-version=1"),
        ("http://h?a=1", "/v1/models?b=2", "http://h/v1/models?a=1&b=2"),
        ("http://h", "//evil.example/v1", "http://h/evil.example/v1"),
        ("http://h", "@evil.example/v1", "http://h/@evil.example/v1"),
        ("HTTP://[::1]:8000/v1", CHAT, "http://[::1]:8000/v1/chat/completions"),
    ],
)
def test_join(base: str, path: str, joined: str) -> None:
    assert join_url(base, path) == joined


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("localhost:8000", "http://localhost:8000"),
        ("127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("api.example.com/v1", "https://api.example.com/v1"),
        ("//api.example.com", "https://api.example.com"),
        ("ftp://api.example.com/v1", "https://api.example.com/v1"),
        ("htps://api.example.com", "https://api.example.com"),
        ("http//localhost:8000", "http://localhost:8000"),
        ("http:/localhost:8000", "http://localhost:8000"),
        ("http:localhost:8000", "http://localhost:8000"),
        ("http:\\\\localhost:8000", "http://localhost:8000"),
        ("http://local host:8000", "http://localhost:8000"),
        (" http://localhost:8000\n", "http://localhost:8000"),
        ("http://h:99999", "http://127.0.0.1:8000"),
        ("http://", "http://127.0.0.1:8000"),
        ("", "http://127.0.0.1:8000"),
        ("http:///v1", "http://v1"),
        ("http://[::1", "http://127.0.0.1:8000"),
        ("https://me:hunter2@api.example.com/v1", "https://api.example.com/v1"),
    ],
)
def test_bad_base_names_what_was_meant(typed: str, meant: str) -> None:
    with pytest.raises(KvtopError) as caught:
        check_base_url(typed)
    assert caught.value.failure.code == "bad_url"
    assert meant in caught.value.failure.hint.split()
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("path", ["http://evil.example/v1", "/v1/mo dels", "/v1\r\nHost: x", "/a#b"])
def test_path_that_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(KvtopError) as caught:
        join_url("http://h", path)
    assert caught.value.failure.code == "bad_url"


def test_root_is_where_engines_serve_tokenize() -> None:
    assert root_url("http://h:8000/v1/") == "http://h:8000"
    assert root_url("https://x/api/v1") == "https://x/api"
    assert root_url("https://x/api/v4") == "https://x/api/v4"
    assert root_url("http://h/v1/chat/completions?a=1") == "http://h?a=1"


def test_origin() -> None:
    assert origin("HTTPS://Api.Example.com:443/v1?k=1") == "https://api.example.com"
    assert origin("http://h:8000/x") == "http://h:8000"
    assert origin("http://[::1]:80") == "http://[::1]"


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://localhost:8000", True),
        ("http://LOCALHOST.", True),
        ("http://box.localhost/v1", True),
        ("http://127.9.8.7", True),
        ("http://[::1]:1", True),
        ("http://[::ffff:127.0.0.1]", True),
        ("http://0.0.0.0:8000", True),
        ("http://10.0.0.1", False),
        ("http://localhost.example.com", False),
        ("http://127.0.0.1.example.com", False),
        ("nonsense", False),
        ("http://[bad", False),
    ],
)
def test_loopback(url: str, *, loopback: bool) -> None:
    assert is_loopback(url) is loopback
