from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from kvtop.model.endpoint import EngineHints, Price
from kvtop.providers.profile import ClaudeModels, DialectProfile, KeySource
from kvtop.providers.profile_file import read_profile
from tests.providers.conftest import MINIMAL, failure_of

Write = Callable[..., Path]
KEY = "sk-0123456789abcdefABCDEF"

FULL = """\
name = "lab"
base_url = "https://taotoken.net/api/"
dialect = "openai-chat"
model = "deepseek-v4.1-flash"
key_env = "TAOTOKEN_API_KEY"
context_window = 131072
verify_tls = true
[paths]
chat = "/v1/chat/completions"
models = "/v1/models"
[headers]
X-Team = "memory lab"
[price]
currency = "cny"
input = 2
cached_input = 0.2
output = 8.0
[dialects.anthropic-messages]
base_url = "https://taotoken.net/api/claudecode-anthropic"
model = "other"
extra_body = { thinking = { type = "disabled" } }
[dialects.anthropic-messages.paths]
messages = "/v1/messages"
[dialects.openai-responses]
[claude]
haiku_model = "small"
context_window = 65536
[engine]
metrics_url = "http://127.0.0.1:8000/metrics"
model_config = "/models/x/config.json"
pid = 4242
[extra_body]
top_k = 1
[extra_body.attention_config]
csa_block_size = 4
layers = [1, 2.5, true, "x", { deep = [] }]
"""


def test_every_key(write: Write) -> None:
    path = write(FULL)
    profile = read_profile(path)
    assert (profile.name, profile.base_url, profile.model) == (
        "lab",
        "https://taotoken.net/api",
        "deepseek-v4.1-flash",
    )
    assert profile.key == KeySource(env="TAOTOKEN_API_KEY")
    assert profile.context_window == 131072
    assert profile.paths == {"chat": "/v1/chat/completions", "models": "/v1/models"}
    assert profile.headers == {"X-Team": "memory lab"}
    assert profile.price == Price("CNY", 2.0, 0.2, 8.0)
    assert profile.dialects == {
        "anthropic-messages": DialectProfile(
            "https://taotoken.net/api/claudecode-anthropic",
            "other",
            {"messages": "/v1/messages"},
            {"thinking": {"type": "disabled"}},
        ),
        "openai-responses": DialectProfile(),
    }
    assert profile.claude == ClaudeModels(haiku_model="small", context_window=65536)
    assert profile.engine == EngineHints("http://127.0.0.1:8000/metrics", "/models/x/config.json", 4242)
    assert profile.extra_body["attention_config"]["layers"] == [1, 2.5, True, "x", {"deep": []}]
    assert (profile.verify_tls, profile.path, profile.flags) == (True, path, ())


def test_smallest_profile_leaves_the_rest_unknown(write: Write) -> None:
    profile = read_profile(write(MINIMAL))
    assert profile.key == KeySource()
    assert profile.price is None
    assert profile.context_window is None
    assert profile.dialect == "openai-chat"
    assert profile.flags == ()
    with pytest.raises(dataclasses.FrozenInstanceError):
        profile.model = "other"  # type: ignore[misc]  # that it cannot be set is the point


@pytest.mark.parametrize(
    ("content", "line", "hint"),
    [
        (f"{MINIMAL}keyenv = 'X'\n", 3, "key_env"),
        (f"{MINIMAL}api_key = '{KEY}'\n", 3, "key"),
        (f"{MINIMAL}baseurl = 'x'\n", 3, "base_url"),
        (f"{MINIMAL}[path]\nchat = '/x'\n", 3, "paths"),
        (f"{MINIMAL}[paths]\nchats = '/x'\n", 4, "chat"),
        (f"{MINIMAL}[price]\n\ncache_input = 1\n", 5, "cached_input"),
        (f"{MINIMAL}[engine]\nmetric_url = 'x'\n", 4, "metrics_url"),
        (f"{MINIMAL}[claude]\nhaiku = 'x'\n", 4, "haiku_model"),
        (f"{MINIMAL}[dialects.anthropic]\n", 3, "anthropic-messages"),
        (f"{MINIMAL}[dialects.openai-responses]\nbase-url = 'x'\n", 4, "base_url"),
        (f"{MINIMAL}dialects = {{ openai-response = {{}} }}\n", 3, "openai-responses"),
    ],
)
def test_unknown_keys_name_line_and_nearest(write: Write, content: str, line: int, hint: str) -> None:
    path = write(content)
    failure = failure_of(lambda: read_profile(path), KEY)
    assert failure.code == "unknown_key"
    assert failure.text.startswith(f"{path}:{line}: ")
    assert failure.hint == f"Did you mean {hint}?"


URL = 'base_url = "https://x.example"\n'


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("model = 'm'\n", None, "base_url is missing"),
        (URL, None, "model is missing"),
        ("model = 'm'\nbase_url = 8000\n", 2, "base_url must be a text in quotes, not a whole number"),
        ("model = 'm'\nbase_url = 'localhost:8000'\n", 2, "must start with http"),
        (f"{URL}model = ''\n", 2, "model is empty"),
        (f"{URL}model = ' m'\n", 2, "white space"),
        (f'{URL}model = "m\\u001b[31m"\n', 2, "control character"),
        (f"{URL}model = ['m']\n", 2, "model must be a text in quotes, not a list"),
        (f"{MINIMAL}dialect = 'openai'\n", 3, "dialect is 'openai', but must be one of openai-chat"),
        (f"{MINIMAL}context_window = 0\n", 3, "at least 1"),
        (f"{MINIMAL}context_window = '128k'\n", 3, "must be a whole number, not a text"),
        (f"{MINIMAL}context_window = true\n", 3, "must be a whole number, not true or false"),
        (f"{MINIMAL}context_window = 2024-01-01\n", 3, "not a date or time"),
        (f"{MINIMAL}verify_tls = 'no'\n", 3, "must be true or false"),
        (f"{MINIMAL}paths = '/v1'\n", 3, "paths must be a table"),
        (f"{MINIMAL}[paths]\nchat = 'v1/chat'\n", 4, "paths.chat must be a path"),
        (f"{MINIMAL}[paths]\nchat = 'https://evil.example/v1'\n", 4, "must be a path"),
        (f"{MINIMAL}[price]\ninput = -1\n", 4, "at least 0"),
        (f"{MINIMAL}[price]\ninput = nan\n", 4, "at least 0"),
        (f"{MINIMAL}[price]\ninput = '2'\n", 4, "must be a number, not a text"),
        (f"{MINIMAL}[price]\ncurrency = '¥'\n", 4, "three letters"),
        (f"{MINIMAL}[engine]\npid = 0\n", 4, "at least 1"),
        (f"{MINIMAL}[engine]\nmetrics_url = '127.0.0.1:8000'\n", 4, "must start with http"),
        (f"{MINIMAL}[dialects.openai-chat]\n", 3, "own dialect"),
        (f"{MINIMAL}[dialects.openai-responses]\nbase_url = 'x'\n", 4, "dialects.openai-responses.base_url"),
        (f"{MINIMAL}[headers]\nX = 1\n", 4, "must be a text"),
        (f"{MINIMAL}[headers]\n'X Y' = 'a'\n", 4, "not a header name"),
        (f'{MINIMAL}[headers]\nX = "a\\r\\nHost: evil"\n', 4, "printable"),
        (f"{MINIMAL}[headers]\nX = 'é'\n", 4, "printable"),
        (f"{MINIMAL}[headers]\nAuthorization = 'Bearer {KEY}'\n", 4, "use key_env"),
        (f"{MINIMAL}[headers]\nx-api-key = '{KEY}'\n", 4, "use key_env"),
        (f"{MINIMAL}[headers]\nHost = 'other'\n", 4, "set by kvtop"),
        (f"{MINIMAL}[headers]\nX-A = 'a'\nx-a = 'b'\n", 5, "upper and lower case"),
        (f"{MINIMAL}[extra_body]\nmodel = 'other'\n", 4, "set by kvtop"),
        (f"{MINIMAL}[extra_body]\nstream = false\n", 4, "set by kvtop"),
        (f"{MINIMAL}[extra_body]\nx = [1, {{ y = inf }}]\n", 4, "inf or nan"),
        (f"{MINIMAL}[extra_body]\nx = 2024-01-01\n", 4, "date or time"),
        (f"{MINIMAL}[extra_body]\nx = {'[' * 40}{']' * 40}\n", 4, "nested"),
        (f"{MINIMAL}key_env = 'A'\nkey_file = 'b'\n", 4, "key_file stands beside key_env"),
        (f"{MINIMAL}key_env = '{KEY}'\n", 3, "not the key itself"),
        (f"{MINIMAL}key_env = '$NAME'\n", 3, "must be the name"),
        (f"{MINIMAL}key_file = '{KEY}'\n", 3, "not the key itself"),
        (f"{MINIMAL}key_command = '{KEY}'\n", 3, "not the key itself"),
        (f"{MINIMAL}key_command = []\n", 3, "must be a command"),
        (f"{MINIMAL}key_command = ['a', 1]\n", 3, "must be a command"),
        (f"{MINIMAL}key_command = 'unbalanced \"'\n", 3, "must be a command"),
        (f"{MINIMAL}key_command = ''\n", 3, "must be a command"),
        (f"{MINIMAL}key_command = true\n", 3, "must be a command"),
        (f"{MINIMAL}key = 12345\n", 3, "key must be a text in quotes"),
        (f"{MINIMAL}key = ['{KEY}']\n", 3, "key must be a text in quotes, not a list"),
    ],
)
def test_bad_values_name_line_and_key(write: Write, content: str, line: int | None, words: str) -> None:
    path = write(content)
    failure = failure_of(lambda: read_profile(path), KEY)
    assert failure.code == "bad_value"
    assert failure.text.startswith(f"{path}: " if line is None else f"{path}:{line}: ")
    assert words in failure.text


@pytest.mark.parametrize(
    "url", [f"https://x:{KEY}@x.example", f"https://x.example?key={KEY}", f"https://x.example/ {KEY}"]
)
def test_a_key_in_the_url_is_refused_and_not_repeated(write: Write, url: str) -> None:
    path = write(f"base_url = '{url}'\nmodel = 'm'\n")
    assert failure_of(lambda: read_profile(path), KEY).code == "bad_value"


def test_syntax_error_beside_a_key_does_not_show_it(write: Write) -> None:
    path = write(f'key = "{KEY}"\nkey = "{KEY}"\n')
    assert failure_of(lambda: read_profile(path), KEY).code == "bad_toml"
    path = write(f"{MINIMAL}key = {KEY}\n")
    assert failure_of(lambda: read_profile(path), KEY).text.startswith(f"{path}:3: ")


def test_key_command_keeps_its_words(write: Write) -> None:
    assert read_profile(write(f"{MINIMAL}key_command = 'pass show \"my api\"'\n")).key.command == (
        "pass",
        "show",
        "my api",
    )
    assert read_profile(write(f"{MINIMAL}key_command = ['pass', 'my api']\n")).key.command == (
        "pass",
        "my api",
    )


def codes(path: Path) -> list[str]:
    return [flag.code for flag in read_profile(path).flags]


def test_literal_key_is_flagged_and_hidden(write: Write) -> None:
    path = write(f"{MINIMAL}key = '{KEY}'\n")
    profile = read_profile(path)
    assert profile.key.literal is not None
    assert profile.key.literal.reveal() == KEY
    assert [flag.code for flag in profile.flags] == ["literal_key"]
    assert KEY not in repr(profile) + str(profile) + f"{profile}" + repr(profile.key)
    with pytest.raises(TypeError):
        pickle.dumps(profile)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_literal_key_in_a_file_that_others_can_read(write: Write, mode: int) -> None:
    path = write(f"{MINIMAL}key = '{KEY}'\n", mode=mode)
    flag = read_profile(path).flags[-1]
    assert flag.code == "key_mode"
    assert flag.hint == f"chmod 600 {path}"
    assert codes(write(f"{MINIMAL}key_env = 'A'\n", mode=mode)) == []


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("base_url = 'http://10.0.0.5:8000'\nmodel = 'm'\nkey_env = 'A'\n", ["plain_http"]),
        ("base_url = 'http://10.0.0.5:8000'\nmodel = 'm'\n", []),
        ("base_url = 'http://127.0.0.1:8000'\nmodel = 'm'\nkey_env = 'A'\n", []),
        (
            f"{MINIMAL}key_env = 'A'\n[dialects.openai-responses]\nbase_url = 'http://x.example'\n",
            ["plain_http"],
        ),
        (f"{MINIMAL}verify_tls = false\n", ["tls_unverified"]),
        (f"{MINIMAL}name = 'other'\n", ["name_differs"]),
        ("base_url = 'https://x.example/v1'\nmodel = 'm'\n", ["base_url_version"]),
        ("base_url = 'https://x.example/v1'\nmodel = 'm'\n[paths]\nchat = '/chat/completions'\n", []),
    ],
)
def test_other_flags(write: Write, content: str, expected: list[str]) -> None:
    assert codes(write(content)) == expected


def test_base_url_with_version_is_read_without(write: Write) -> None:
    content = (
        "base_url = 'https://x.example/v1/'\nmodel = 'm'\n"
        "[dialects.openai-responses]\nbase_url = 'https://y.example/v1'\n"
    )
    profile = read_profile(write(content))
    assert profile.base_url == "https://x.example"
    assert profile.dialects["openai-responses"].base_url == "https://y.example"


def test_headers_are_not_in_the_repr(write: Write) -> None:
    assert "t0ken" not in repr(read_profile(write(f"{MINIMAL}[headers]\nX-Gateway = 't0ken'\n")))
