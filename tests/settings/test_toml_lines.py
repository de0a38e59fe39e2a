from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtop.settings.toml_lines import lines_of_keys

TRICKY = '''\
# base_url = "commented"
name = "x" # model = "no"
text = """
model = "inside a string"
[not.a.table]
"""
raw = \'\'\'
other = 1 \'\' "" \'\'\'\'
closing = """ four quotes: """"
"quoted.key" = 1
'single' = 2
"esc\\u0061ped" = 3
array = [
  "a]", # ] comment
  [1, 2],
  { inner = 1 },
]
inline = { one = 1, two = { three = 3 }, list = [{ four = 4 }], five = 5 }
a . b = 1.5

  [ table . "sub table" ] # comment ]
key = true
[[items]]
first = 1
[[items]]
first = 2
[last]'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("name",), 2),
        (("text",), 3),
        (("raw",), 7),
        (("closing",), 9),
        (("quoted.key",), 10),
        (("single",), 11),
        (("escaped",), 12),
        (("array",), 13),
        (("inline",), 18),
        (("inline", "one"), 18),
        (("inline", "two", "three"), 18),
        (("inline", "five"), 18),
        (("a", "b"), 19),
        (("table", "sub table"), 21),
        (("table", "sub table", "key"), 22),
        (("items",), 23),
        (("items", "first"), 24),
        (("last",), 27),
    ],
)
def test_tricky_text(path: tuple[str, ...], line: int) -> None:
    tomllib.loads(TRICKY)
    assert lines_of_keys(TRICKY)[path] == line


def test_what_only_looks_like_a_key_is_none() -> None:
    found = lines_of_keys(TRICKY)
    for path in [("base_url",), ("model",), ("other",), ("not", "a", "table"), ("array", "inner"), ("not",)]:
        assert path not in found


def test_crlf_and_empty() -> None:
    assert lines_of_keys("a = 1\r\n\r\n[b]\r\nc = 2\r\n") == {("a",): 1, ("b",): 3, ("b", "c"): 4}
    assert lines_of_keys("") == {}


def _paths(values: dict[str, Any], prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _paths(value, (*prefix, name))
        else:
            yield (*prefix, name)


NAMES = st.text(st.characters(codec="utf-8"), max_size=6)
VALUES = st.one_of(
    st.text(max_size=8), st.integers(-9, 9), st.booleans(), st.lists(st.text(max_size=4), max_size=3)
)
TREES = st.dictionaries(
    NAMES,
    st.recursive(VALUES, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=8),
    max_size=5,
)


@settings(max_examples=60, deadline=None)
@given(TREES, st.booleans())
def test_every_key_that_tomllib_sees_has_a_line(tree: dict[str, Any], multiline: bool) -> None:
    text = tomli_w.dumps(tree, multiline_strings=multiline)
    lines = lines_of_keys(text)
    for path in _paths(tomllib.loads(text)):
        assert path in lines
        assert "=" in text.split("\n")[lines[path] - 1]
