"""The parts of a profile that go into requests: paths, headers, body fields."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from kvtop.providers.urls import PATH_NAMES, checked_path

if TYPE_CHECKING:
    from kvtop.settings.toml_table import TomlTable

DEEPEST_BODY = 32

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CREDENTIALS = frozenset(
    ("authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie")
)
_OWN_HEADERS = frozenset(("connection", "content-length", "content-type", "host", "transfer-encoding"))
_OWN_FIELDS = frozenset(("model", "messages", "input", "stream"))


def read_paths(table: TomlTable) -> dict[str, str]:
    """Return `[paths]`. Raises KvtopError `unknown_key` or `bad_value`."""
    table.allow(PATH_NAMES)
    return {name: _path(table, name) for name in table.names()}


def read_headers(table: TomlTable) -> dict[str, str]:
    """Return `[headers]`. Raises KvtopError `bad_value`, also for a header that carries a key."""
    headers = table.texts()
    for name, value in headers.items():
        trouble = _header_trouble(name, value)
        if trouble:
            raise table.error(name, trouble)
    if len({name.lower() for name in headers}) < len(headers):
        raise table.error(list(headers)[-1], "and another header have the same name in upper and lower case")
    return headers


def read_extra_body(table: TomlTable) -> dict[str, Any]:
    """Return `[extra_body]`: anything that JSON can say. Raises KvtopError `bad_value`."""
    body: dict[str, Any] = {}
    for name in table.names():
        if name in _OWN_FIELDS:
            raise table.error(name, "is set by kvtop itself")
        body[name] = table.raw(name)
        trouble = _json_trouble(body[name])
        if trouble:
            raise table.error(name, trouble)
    return body


def _path(table: TomlTable, name: str) -> str:
    try:
        return checked_path(table.text(name) or "")
    except ValueError as error:
        raise table.error(name, str(error)) from None


def _header_trouble(name: str, value: str) -> str | None:
    if not _HEADER_NAME.fullmatch(name):
        return "is not a header name"
    if name.lower() in _CREDENTIALS:
        return "would carry a key in the open; use key_env, key_file or key_command"
    if name.lower() in _OWN_HEADERS:
        return "is set by kvtop itself"
    if value != value.strip() or not (value.isascii() and value.isprintable()):
        return "must hold printable ASCII characters, with no white space around them"
    return None


def _json_trouble(value: Any, depth: int = 0) -> str | None:
    """Return why a TOML value cannot be sent as JSON, or None."""
    if depth > DEEPEST_BODY:
        return f"is nested more than {DEEPEST_BODY} deep"
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return next((trouble for item in items if (trouble := _json_trouble(item, depth + 1))), None)
    if isinstance(value, float) and not math.isfinite(value):
        return "holds inf or nan, which JSON cannot say"
    if not isinstance(value, str | int | float | bool):
        return "holds a date or time, which JSON cannot say; put it in quotes"
    return None
