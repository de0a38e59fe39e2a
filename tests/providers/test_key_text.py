from __future__ import annotations

import pytest

from kvtop.model.secret import Secret
from kvtop.providers.key_text import is_variable_name, looks_like_key, oddity_of, oddity_of_lines

KEY = "sk-0123456789abcdefABCDEF"


@pytest.mark.parametrize("key", [KEY, "EMPTY", "x", "a.b-c_d=", "c2VjcmV0Cg==", "ABC==", "key-with-'-inside"])
def test_good_keys(key: str) -> None:
    assert oddity_of(Secret(key)) is None


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("", "empty"),
        (" \t\n", "empty"),
        (f" {KEY}", "white space"),
        (f"{KEY}\n", "white space"),
        (f"{KEY}\r", "white space"),
        (f"{KEY}\u00a0", "white space"),
        (f'"{KEY}"', "quotes"),
        (f"'{KEY}'", "quotes"),
        (f'{KEY}"', "quotes"),
        (f"“{KEY}”", "quotes"),
        (f"`{KEY}`", "quotes"),
        ("$TAOTOKEN_API_KEY", "not expanded"),
        ("${KEY}", "not expanded"),
        ("<your key>", "placeholder"),
        ("...", "placeholder"),
        ("sk-xxxx", "placeholder"),
        ("sk-…", "placeholder"),
        ("YOUR_API_KEY", "placeholder"),
        ("your-key-here", "placeholder"),
        ("PROXY_MANAGED", "placeholder"),
        (f"Bearer {KEY}", "Bearer"),
        (f"export KEY={KEY}", "assignment"),
        (f"OPENAI_API_KEY={KEY}", "assignment"),
        (f"{KEY} {KEY}", "white space"),
        ("sk-••••cdef", "header"),
        ("sk-\u200babc", "header"),
        ("sk-\x1babc", "header"),
    ],
)
def test_odd_keys_are_told_without_being_repeated(key: str, words: str) -> None:
    oddity = oddity_of(Secret(key))
    assert oddity is not None
    assert words in oddity
    assert KEY not in oddity


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (f'export TAOTOKEN_API_KEY="{KEY}"\nexport X=1\n', "source it"),
        (f"{KEY}\n{KEY}\n", "2 lines"),
        (f"# my key\n\n{KEY}\n", "2 lines"),
    ],
)
def test_files_that_are_no_single_key(content: str, words: str) -> None:
    assert words in str(oddity_of_lines(Secret(content)))


def test_one_line_with_blank_ones_around_is_one_line() -> None:
    assert oddity_of_lines(Secret(f"\n{KEY}\n\n")) is None


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "key", "_k", "MY_KEY_2", "A" * 40, "deepseek_key_for_the_lab_2"]
)
def test_variable_names(name: str) -> None:
    assert is_variable_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "2KEY",
            "MY-KEY",
            "A B",
            "$KEY",
            "KEY=1",
            KEY,
            "sk_live_0123456789abc",
            "gsk_aB3dE5gH7jK9mN1pQ",
        ),
        "a8f3b2c1d4e5f60718293a4b5c6d7e8f",
    ],
)
def test_keys_in_the_place_of_a_variable_name(name: str) -> None:
    assert not is_variable_name(name)


@pytest.mark.parametrize("text", ["/home/ada/keys/sk-0123456789abcdef", "pass", "secret-tool", "my-key.txt"])
def test_paths_and_programs_are_no_keys(text: str) -> None:
    assert not looks_like_key(text)
