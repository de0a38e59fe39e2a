from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kvtop.model.endpoint import Endpoint, EngineHints, Price
from kvtop.providers.endpoint import endpoint_from_flags, endpoint_of
from kvtop.providers.profile_file import read_profile
from kvtop.providers.store import load_profile
from tests.providers.conftest import MINIMAL, failure_of

KEY = "sk-0123456789abcdefABCDEF"
Write = Callable[..., Path]

LAB = """\
base_url = "https://x.example/api"
model = "big"
key_env = "LAB_KEY"
context_window = 1000
verify_tls = false
[paths]
models = "/v1/models"
[headers]
X-Team = "lab"
[price]
input = 1
[extra_body]
a = { b = 1 }
[engine]
metrics_url = "http://127.0.0.1:8000/metrics"
model_config = "~/models/config.json"
pid = 7
[dialects.openai-responses]
extra_body = {}
[dialects.anthropic-messages]
base_url = "https://y.example"
model = "other"
paths = { messages = "/m" }
"""


@pytest.fixture
def endpoint(write: Write, environ: dict[str, str]) -> Callable[[str | None], Endpoint]:
    profile = read_profile(write(LAB))
    return lambda dialect: endpoint_of(profile, {**environ, "LAB_KEY": KEY}, dialect)


def test_everything_of_a_profile_arrives(endpoint: Callable[[str | None], Endpoint], home: Path) -> None:
    found = endpoint(None)
    assert (found.base_url, found.model, found.dialect, found.name) == (
        "https://x.example/api",
        "big",
        "openai-chat",
        "lab",
    )
    assert found.key is not None
    assert found.key.reveal() == KEY
    assert found.key_origin == "env LAB_KEY"
    assert (found.paths, found.headers) == ({"models": "/v1/models"}, {"X-Team": "lab"})
    assert json.dumps(found.extra_body) == '{"a": {"b": 1}}'
    assert (found.context_window, found.price, found.verify_tls) == (1000, Price("USD", 1.0), False)
    assert found.engine == EngineHints("http://127.0.0.1:8000/metrics", str(home / "models/config.json"), 7)
    assert not found.simulated
    assert KEY not in repr(found) + str(found)


def test_own_dialect_by_name_is_the_same(endpoint: Callable[[str | None], Endpoint]) -> None:
    assert endpoint("openai-chat") == endpoint(None)


def test_dialect_on_the_same_base_url_shares_the_paths(endpoint: Callable[[str | None], Endpoint]) -> None:
    found = endpoint("openai-responses")
    assert (found.base_url, found.model, found.dialect) == (
        "https://x.example/api",
        "big",
        "openai-responses",
    )
    assert found.paths == {"models": "/v1/models"}
    assert found.extra_body == {}


def test_dialect_on_its_own_base_url_has_its_own_paths(endpoint: Callable[[str | None], Endpoint]) -> None:
    found = endpoint("anthropic-messages")
    assert (found.base_url, found.model) == ("https://y.example", "other")
    assert found.paths == {"messages": "/m"}
    assert found.extra_body == {"a": {"b": 1}}


def test_relative_model_config_lies_beside_the_profile(write: Write, environ: dict[str, str]) -> None:
    path = write(f"{MINIMAL}[engine]\nmodel_config = 'config.json'\n")
    assert endpoint_of(read_profile(path), environ).engine.model_config == str(path.parent / "config.json")


def test_dialect_that_the_profile_does_not_have(write: Write, environ: dict[str, str]) -> None:
    profile = read_profile(write(MINIMAL))
    failure = failure_of(lambda: endpoint_of(profile, environ, "openai-responses"))
    assert failure.code == "no_dialect"
    assert "[dialects.openai-responses]" in failure.hint
    failure = failure_of(lambda: endpoint_of(profile, environ, "openai-response"))
    assert (failure.code, failure.hint) == ("bad_value", "Did you mean openai-responses?")


def test_missing_key_ends_it(environ: dict[str, str]) -> None:
    failure = failure_of(lambda: endpoint_of(load_profile("taotoken", environ), environ))
    assert (failure.code, failure.hint) == ("no_key", "export TAOTOKEN_API_KEY=…")


def test_taotoken_by_dialect(environ: dict[str, str]) -> None:
    profile = load_profile("taotoken", environ)
    with_key = {**environ, "TAOTOKEN_API_KEY": KEY}
    assert endpoint_of(profile, with_key).base_url == "https://taotoken.net/api"
    messages = endpoint_of(profile, with_key, "anthropic-messages")
    assert messages.base_url == "https://taotoken.net/api/claudecode-anthropic"


def test_flags() -> None:
    found = endpoint_from_flags("http://127.0.0.1:8000/v1/", "m", "LAB_KEY", None, {"LAB_KEY": KEY})
    assert (found.base_url, found.model, found.dialect, found.name) == (
        "http://127.0.0.1:8000",
        "m",
        "openai-chat",
        "",
    )
    assert found.key is not None
    assert found.key_origin == "env LAB_KEY"


def test_flags_without_a_key() -> None:
    found = endpoint_from_flags("http://127.0.0.1:8000", "m", None, "anthropic-messages", {})
    assert (found.key, found.key_origin, found.dialect) == (None, "none", "anthropic-messages")


@pytest.mark.parametrize(
    ("base_url", "model", "key_env", "dialect", "words"),
    [
        ("127.0.0.1:8000", "m", None, None, "--base-url must start with"),
        (f"https://x:{KEY}@x.example", "m", None, None, "--base-url must hold no user name"),
        ("http://127.0.0.1", "", None, None, "--model is empty"),
        ("http://127.0.0.1", " ", None, None, "--model is empty"),
        ("http://127.0.0.1", "m", KEY, None, "--key-env must be the name"),
        ("http://127.0.0.1", "m", "", None, "--key-env must be the name"),
        ("http://127.0.0.1", "m", None, "openai", "no dialect 'openai'"),
    ],
)
def test_bad_flags(base_url: str, model: str, key_env: str | None, dialect: str | None, words: str) -> None:
    failure = failure_of(lambda: endpoint_from_flags(base_url, model, key_env, dialect, {}), KEY)
    assert failure.code == "bad_value"
    assert words in failure.text


def test_flag_that_names_an_unset_variable() -> None:
    failure = failure_of(lambda: endpoint_from_flags("http://127.0.0.1", "m", "LAB_KEY", None, {}))
    assert (failure.code, failure.hint) == ("no_key", "export LAB_KEY=…")
