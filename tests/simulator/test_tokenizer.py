from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtop.simulator.tokenizer import (
    ANSWER_HEAD_TOKENS,
    MESSAGE_TOKENS,
    Message,
    encode,
    encode_chat,
    split,
)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        (" \n\t\u3000", []),
        ("one two", ["one", "two"]),
        ("It's 3.5%!", ["It", "'", "s", "3", ".", "5", "%", "!"]),
        ("snake_case", ["snake_case"]),
        ("中文,字", ["中文", ",", "字"]),
    ],
)
def test_one_token_per_word_or_mark(text: str, tokens: list[str]) -> None:
    assert split(text) == tokens
    assert len(encode(text)) == len(tokens)


@settings(deadline=None)
@given(st.text(alphabet=st.characters(categories=("L", "N", "P", "S", "Z", "M", "Cc", "Cs"))))
def test_ids_follow_the_split_whatever_the_text(text: str) -> None:
    one_by_one = [encode(token)[0] for token in split(text)]
    assert list(encode(text)) == one_by_one


def test_equal_words_have_equal_ids_and_others_do_not() -> None:
    first, second, third = encode("alpha beta alpha")
    assert first == third != second
    assert encode("alpha")[0] == first


def test_the_template_has_a_stated_number_of_tokens() -> None:
    chat = [Message("system", "be brief"), Message("user", "hello")]
    assert len(encode_chat(chat, open_answer=False)) == 2 * MESSAGE_TOKENS + 3
    assert len(encode_chat(chat)) == 2 * MESSAGE_TOKENS + 3 + ANSWER_HEAD_TOKENS


def test_a_longer_chat_begins_like_the_shorter_one() -> None:
    first = encode_chat([Message("user", "hello")], open_answer=False)
    both = encode_chat([Message("user", "hello"), Message("assistant", "hi")])
    assert both[: len(first)] == first
