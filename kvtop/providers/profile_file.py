"""Reading a profile: a TOML file in, a checked Profile or a complaint with file, line and key out."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from kvtop.model.endpoint import DIALECTS, OPENAI_CHAT, EngineHints, Price
from kvtop.providers.key_text import is_variable_name, looks_like_key
from kvtop.providers.profile import ClaudeModels, DialectProfile, KeySource, Profile
from kvtop.providers.profile_flags import flags_of
from kvtop.providers.request_parts import read_extra_body, read_headers, read_paths
from kvtop.providers.urls import checked_base_url, checked_url, without_version
from kvtop.settings.toml_table import TomlTable
from kvtop.settings.toml_text import read_toml

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY_SOURCES = ("key_env", "key_file", "key_command", "key")
TABLES = ("paths", "headers", "price", "dialects", "claude", "engine", "extra_body")
KEYS = ("name", "base_url", "dialect", "model", *KEY_SOURCES, "context_window", "verify_tls", *TABLES)
CLAUDE_MODELS = ("haiku_model", "sonnet_model", "opus_model", "fable_model", "subagent_model")
CURRENCY_LENGTH = 3


def read_profile(path: Path) -> Profile:
    """Read and check a profile. Its name is the file's, which is what people select it by.

    Raises KvtopError `bad_toml`, `unknown_key` or `bad_value`; none of them repeats a key.
    """
    root = TomlTable(read_toml(path))
    root.allow(KEYS)
    paths = read_paths(root.table("paths"))
    written_url = _required_url(root)
    dialect = root.choice("dialect", DIALECTS) or OPENAI_CHAT
    profile = Profile(
        name=path.stem,
        base_url=without_version(written_url, paths.values()),
        model=_required(root, "model"),
        dialect=dialect,
        key=_key_source(root),
        context_window=root.integer("context_window"),
        paths=paths,
        headers=read_headers(root.table("headers")),
        extra_body=read_extra_body(root.table("extra_body")),
        price=_price(root),
        dialects=_dialects(root, dialect),
        claude=_claude(root.table("claude")),
        engine=_engine(root.table("engine")),
        verify_tls=root.switch("verify_tls", default=True),
        path=path,
    )
    return flags_of(profile, root.text("name"), written_url)


def _required(table: TomlTable, name: str) -> str:
    value = table.text(name)
    if value is None:
        raise table.error(name, "is missing", f'Add a line {name} = "…".')
    return value


def _required_url(root: TomlTable) -> str:
    if root.text("base_url") is None:
        raise root.error("base_url", "is missing", 'Add a line base_url = "https://…", without the path.')
    return _url(root, "base_url", checked_base_url) or ""


def _url(table: TomlTable, name: str, check: Callable[[str], str]) -> str | None:
    value = table.text(name)
    if value is None:
        return None
    try:
        return check(value)
    except ValueError as error:
        raise table.error(name, str(error)) from None


def _key_source(root: TomlTable) -> KeySource:
    given = [name for name in KEY_SOURCES if name in root]
    if len(given) > 1:
        raise root.error(
            given[1], f"stands beside {given[0]}", "A profile has one source for its key; keep one."
        )
    return KeySource(_key_env(root), _key_file(root), _key_command(root), root.secret("key"))


def _key_env(root: TomlTable) -> str | None:
    name = root.text("key_env")
    if name is not None and not is_variable_name(name):
        text = "must be the name of an environment variable, not the key itself"
        raise root.error("key_env", text, 'Write key_env = "NAME" and, in the shell, export NAME=…')
    return name


def _key_file(root: TomlTable) -> str | None:
    path = root.text("key_file")
    if path is not None and looks_like_key(path):
        raise root.error("key_file", "must be the path of a file that holds the key, not the key itself")
    return path


def _key_command(root: TomlTable) -> tuple[str, ...] | None:
    value = root.raw("key_command")
    if value is None:
        return None
    words = _words(value)
    if not words or not words[0].strip() or any("\0" in word for word in words):
        raise root.error("key_command", 'must be a command such as "pass show api" or a list of its words')
    if looks_like_key(words[0]):
        raise root.error("key_command", "must be a program that prints the key, not the key itself")
    return words


def _words(value: object) -> tuple[str, ...]:
    """Split a command into words as a shell would, without running one; nothing for what is no command."""
    if isinstance(value, list):
        return tuple(word for word in value if isinstance(word, str)) if _all_texts(value) else ()
    try:
        return tuple(shlex.split(value)) if isinstance(value, str) else ()
    except ValueError:
        return ()


def _all_texts(items: list[object]) -> bool:
    return all(isinstance(item, str) for item in items)


def _price(root: TomlTable) -> Price | None:
    if "price" not in root:
        return None
    table = root.table("price")
    table.allow(("currency", "input", "cached_input", "output"))
    currency = table.text("currency") or "USD"
    if len(currency) != CURRENCY_LENGTH or not (currency.isascii() and currency.isalpha()):
        raise table.error("currency", "must be a code of three letters such as USD or CNY")
    return Price(
        currency.upper(), table.number("input"), table.number("cached_input"), table.number("output")
    )


def _dialects(root: TomlTable, own: str) -> dict[str, DialectProfile]:
    table = root.table("dialects")
    table.allow(DIALECTS)
    if own in table:
        raise table.error(own, "is the profile's own dialect", "Its base_url and model stand at the top.")
    return {name: _dialect(table.table(name)) for name in table.names()}


def _dialect(table: TomlTable) -> DialectProfile:
    table.allow(("base_url", "model", "paths", "extra_body"))
    paths = read_paths(table.table("paths"))
    url = _url(table, "base_url", checked_base_url)
    return DialectProfile(
        base_url=None if url is None else without_version(url, paths.values()),
        model=table.text("model"),
        paths=paths,
        extra_body=read_extra_body(table.table("extra_body")) if "extra_body" in table else None,
    )


def _claude(table: TomlTable) -> ClaudeModels:
    table.allow((*CLAUDE_MODELS, "context_window"))
    models = {name: table.text(name) for name in CLAUDE_MODELS}
    return ClaudeModels(**models, context_window=table.integer("context_window"))


def _engine(table: TomlTable) -> EngineHints:
    table.allow(("metrics_url", "model_config", "pid"))
    metrics_url = _url(table, "metrics_url", checked_url)
    return EngineHints(metrics_url, table.text("model_config"), table.integer("pid"))
