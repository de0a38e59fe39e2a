from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest

from kvtop.api.prompts import PASS_WORDS, TAIL_WORDS, TASK, PromptWriter, pass_words, shared_words


def body_of(prompt: str) -> list[str]:
    assert prompt.endswith(TASK)
    return prompt.removesuffix(TASK).split(" ")


def test_the_words_are_a_fixed_set_of_plain_words_told_apart_by_three_letters() -> None:
    words = pass_words()
    assert len(words) == PASS_WORDS
    assert words == tuple(sorted(words))
    assert len({word[:3] for word in words}) == PASS_WORDS
    assert all(re.fullmatch(r"[a-z]{3,7}", word) for word in words)


def test_no_word_of_the_set_belongs_to_the_task_of_counting() -> None:
    assert not {"one", "two", "three", "four", "five", "stop", "hundred", "zero"} & set(pass_words())


@pytest.mark.parametrize("words", [0, 1, 2, 511, 512, 513, 5000])
def test_a_prompt_has_a_head_the_wanted_words_and_the_task(words: int) -> None:
    body = body_of(PromptWriter(3).cold(5, words))
    assert len(body) == 1 + words
    assert set(body) <= set(pass_words())


def test_each_pass_holds_every_word_once() -> None:
    body = body_of(PromptWriter(0).cold(7, 3 * PASS_WORDS))[1:]
    passes = [body[start : start + PASS_WORDS] for start in range(0, len(body), PASS_WORDS)]
    assert all(sorted(each) == list(pass_words()) for each in passes)
    assert len({tuple(each) for each in passes}) == 3


def test_shuffles_are_fair() -> None:
    """Each word comes about equally often in the first quarter of a pass, whatever its place in the set."""
    early: Counter[str] = Counter()
    for ordinal in range(400):
        early.update(body_of(PromptWriter(1).cold(ordinal, PASS_WORDS // 4))[2:])
    assert set(early) == set(pass_words())
    mean = early.total() / PASS_WORDS
    chi_square = sum((count - mean) ** 2 / mean for count in early.values())
    assert 0.55 < chi_square / PASS_WORDS < 0.95


def test_512_requests_differ_in_their_first_word_at_any_length() -> None:
    writer = PromptWriter(11)
    lengths = (0, 1, 40, 513)
    heads = [body_of(writer.cold(ordinal, lengths[ordinal % 4]))[0] for ordinal in range(PASS_WORDS)]
    assert len(set(heads)) == PASS_WORDS


def test_more_requests_differ_in_their_first_two_words() -> None:
    writer = PromptWriter(11)
    count = 5 * PASS_WORDS
    assert len({tuple(body_of(writer.cold(ordinal, 3))[:2]) for ordinal in range(count)}) == count


def test_the_first_two_words_differ_up_to_the_stated_number_of_requests() -> None:
    last = 261_632
    writer = PromptWriter(2)
    ordinals = range(3, last, PASS_WORDS)
    openings = {tuple(body_of(writer.cold(ordinal, 1))) for ordinal in ordinals}
    assert len(openings) == len(ordinals) == PASS_WORDS - 1
    assert body_of(writer.cold(3 + last, 1)) == body_of(writer.cold(3, 1))


@pytest.mark.parametrize("seed", [0, 1, 99])
def test_neighbours_start_with_different_letters(seed: int) -> None:
    writer = PromptWriter(seed)
    letters = [writer.cold(ordinal, 0)[0] for ordinal in range(PASS_WORDS + 1)]
    assert all(one != other for one, other in pairwise(letters))
    assert len(set(letters[:20])) == 20


def test_seeds_write_different_prompts() -> None:
    assert PromptWriter(0).cold(0, 600) != PromptWriter(1).cold(0, 600)


def test_a_shorter_prompt_of_the_same_request_is_a_beginning_of_the_longer() -> None:
    writer = PromptWriter(4)
    assert body_of(writer.cold(9, 700)) == body_of(writer.cold(9, 1500))[:701]


@pytest.mark.parametrize("words", [33, 512, 2000])
@pytest.mark.parametrize("variant", [0, 1, 30, 31, 5000])
def test_a_reused_prompt_is_the_cold_one_up_to_its_tail(words: int, variant: int) -> None:
    writer = PromptWriter(8)
    cold, reused = writer.cold(4, words), writer.reused(4, words, variant)
    shared = writer.shared_text(4, words)
    assert cold.startswith(shared + " ")
    assert reused.startswith(shared + " ")
    assert len(shared.split(" ")) == 1 + shared_words(words) == 1 + words - TAIL_WORDS
    cold_tail, tail = body_of(cold)[-TAIL_WORDS:], body_of(reused)[-TAIL_WORDS:]
    assert tail[0] != cold_tail[0]
    assert sorted(tail) == sorted(cold_tail)


def test_variants_of_one_prefix_part_at_the_first_word_of_the_tail() -> None:
    writer = PromptWriter(8)
    tails = [body_of(writer.reused(4, 1000, variant))[-TAIL_WORDS:] for variant in range(TAIL_WORDS - 1)]
    assert len({tail[0] for tail in tails}) == TAIL_WORDS - 1


def test_many_variants_are_all_different() -> None:
    writer = PromptWriter(8)
    assert len({writer.reused(4, 300, variant) for variant in range(2000)}) == 2000


def test_half_of_a_prompt_can_be_shared() -> None:
    writer = PromptWriter(8)
    cold, reused = writer.cold(1, 1000), writer.reused(1, 1000, 1, tail_words=500)
    assert body_of(reused)[:501] == body_of(cold)[:501]
    assert body_of(reused)[501] != body_of(cold)[501]
    assert writer.shared_text(1, 1000, tail_words=500) == " ".join(body_of(cold)[:501])


@pytest.mark.parametrize("words", [1, 2, 31, 32])
def test_a_prompt_shorter_than_the_tail_shares_its_head_only(words: int) -> None:
    writer = PromptWriter(8)
    cold, reused = body_of(writer.cold(2, words)), body_of(writer.reused(2, words, 3))
    assert reused[0] == cold[0]
    assert reused[1] != cold[1]
    assert len(reused) == len(cold)
    assert shared_words(words) == 0


def test_without_body_words_there_is_nothing_to_reorder() -> None:
    writer = PromptWriter(8)
    assert writer.reused(2, 0, 1) == writer.cold(2, 0)


@pytest.mark.parametrize(("ordinal", "words"), [(-1, 5), (1, -5)])
def test_negative_numbers_are_refused(ordinal: int, words: int) -> None:
    with pytest.raises(ValueError, match="negative"):
        PromptWriter(0).cold(ordinal, words)


DIGEST = "f48a8a97aae0486a80ad5a7860e524f215e9d527cc2e16c3aba0dc4251f6a054"
PROGRAM = """
import hashlib
from kvtop.api.prompts import PromptWriter
writer = PromptWriter(42)
text = writer.cold(600, 3000) + writer.reused(600, 3000, 2)
print(hashlib.sha256(text.encode()).hexdigest())
"""


def test_the_prompts_of_a_seed_never_change() -> None:
    """A run can be repeated only while a seed writes the same text in every version of kvtop and Python."""
    writer = PromptWriter(42)
    text = writer.cold(600, 3000) + writer.reused(600, 3000, 2)
    assert hashlib.sha256(text.encode()).hexdigest() == DIGEST


def test_another_process_writes_the_same_prompts() -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "123"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == DIGEST
