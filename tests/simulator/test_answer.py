from __future__ import annotations

from array import array
from itertools import islice

from kvtop.simulator.answer import LONGEST_ANSWER_TOKENS, SHORTEST_ANSWER_TOKENS, answer_to
from kvtop.simulator.tokenizer import encode

PROMPT = encode("a prompt")


def test_the_same_seed_and_prompt_give_the_same_answer() -> None:
    answer = list(answer_to(PROMPT, 1))
    assert list(answer_to(PROMPT, 1)) == answer
    assert list(answer_to(PROMPT, 2)) != answer
    assert list(answer_to(array("I", (1,)), 1)) != answer


def test_an_answer_ends_by_itself_with_a_reason() -> None:
    answer = list(answer_to(PROMPT, 1))
    assert SHORTEST_ANSWER_TOKENS <= len(answer) <= LONGEST_ANSWER_TOKENS
    assert answer[-1].finish_reason == "stop"
    assert {token.finish_reason for token in answer[:-1]} == {None}


def test_an_endless_answer_goes_on() -> None:
    answer = list(islice(answer_to(PROMPT, 1, ignore_end=True), 2 * LONGEST_ANSWER_TOKENS))
    assert len(answer) == 2 * LONGEST_ANSWER_TOKENS
    assert all(token.finish_reason is None for token in answer)


def test_the_text_is_counted_as_generated() -> None:
    answer = list(answer_to(PROMPT, 1))
    assert list(encode("".join(token.text for token in answer))) == [token.id for token in answer]
