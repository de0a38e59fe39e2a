from __future__ import annotations

import pytest

from kvtop.api.calibration import CALIBRATION_WORDS, LengthModel
from kvtop.api.prompts import PASS_WORDS, PromptWriter
from kvtop.model.failure import KvtopError

from .piecewise_tokens import count_tokens

LENGTHS = (1024, 4096, 8192, 16384, 32768)


def calibrated(writer: PromptWriter) -> LengthModel:
    """Return the model of two calibration requests, ordinals 0 and 1."""
    return LengthModel.from_two(
        count_tokens(writer.cold(0, 0)),
        CALIBRATION_WORDS,
        count_tokens(writer.cold(1, CALIBRATION_WORDS)),
    )


def code_of(raised: pytest.ExceptionInfo[KvtopError]) -> str:
    failure = raised.value.failure
    assert failure.text
    assert failure.hint
    return failure.code


def test_a_calibration_request_is_one_whole_pass() -> None:
    assert CALIBRATION_WORDS == PASS_WORDS


def test_two_answers_give_the_line() -> None:
    model = LengthModel.from_two(56, 512, 1063)
    assert model.tokens_per_word == pytest.approx(1007 / 512)
    assert model.tokens_for(0) == 56
    assert model.tokens_for(512) == pytest.approx(1063)
    assert model.body_tokens(512) == pytest.approx(1007)
    assert not model.is_assumed


def test_words_for_a_length_measured_on_llama_cpp() -> None:
    """Three prompts that llama.cpp counted, against the line of its two calibration answers."""
    model = LengthModel.from_two(56, 512, 1063)
    assert model.words_for(1024) == 492
    for words, counted in ((492, 1023), (2054, 4102), (4132, 8191)):
        assert model.tokens_for(words) == pytest.approx(counted, rel=0.003)


@pytest.mark.parametrize("seed", range(10))
def test_lengths_hold_with_a_tokenizer_that_splits_words(seed: int) -> None:
    writer = PromptWriter(seed)
    model = calibrated(writer)
    for ordinal, target in enumerate(LENGTHS, start=2):
        words = model.words_for(target)
        assert count_tokens(writer.cold(ordinal, words)) == pytest.approx(target, abs=max(0.01 * target, 16))


def test_refinement_takes_the_error_out_of_the_factor() -> None:
    """A second calibration answer that is 5 tokens too high spoils the factor at first, and then no more."""
    writer = PromptWriter(0)
    skewed = LengthModel.from_two(count_tokens(writer.cold(0, 0)), 512, count_tokens(writer.cold(1, 512)) + 5)
    model = skewed
    for ordinal, target in enumerate(LENGTHS, start=2):
        words = model.words_for(target)
        model = model.refined(words, count_tokens(writer.cold(ordinal, words)))
    last = writer.cold(50, model.words_for(131072))
    unrefined = writer.cold(50, skewed.words_for(131072))
    assert count_tokens(last) == pytest.approx(131072, rel=0.001)
    assert count_tokens(unrefined) != pytest.approx(131072, rel=0.003)


def test_a_cut_pass_teaches_less_than_a_whole_one() -> None:
    model = LengthModel(2.0, 50, weight=1000)
    cut = model.refined(512 + 256, 50 + round(2.1 * (512 + 256)))
    whole = model.refined(512, 50 + round(2.1 * 512))
    assert 2.0 < cut.tokens_per_word < whole.tokens_per_word < 2.11


def test_refined_stays_between_old_factor_and_measured_one() -> None:
    model = LengthModel.from_two(50, 512, 1074)
    refined = model.refined(4096, 50 + 8400)
    assert model.tokens_per_word < refined.tokens_per_word < 8400 / 4096
    assert refined.template_tokens == 50
    assert refined.weight > model.weight


@pytest.mark.parametrize(
    ("words", "prompt_tokens"),
    [(4096, None), (4096, 0), (0, 56), (4096, 2048), (4096, 12000), (4096, 7410), (4096, 9070)],
)
def test_an_odd_answer_teaches_nothing(words: int, prompt_tokens: int | None) -> None:
    model = LengthModel.from_two(50, 512, 1074)
    assert model.refined(words, prompt_tokens) is model


@pytest.mark.parametrize("prompt_tokens", [7425, 9060])
def test_an_answer_within_a_tenth_is_learned(prompt_tokens: int) -> None:
    model = LengthModel.from_two(50, 512, 1074)
    assert model.refined(4096, prompt_tokens) != model


@pytest.mark.parametrize(
    ("zero_words_tokens", "tokens"), [(None, 1063), (56, None), (None, None), (0, 0), (0, 1063), (56, 0)]
)
def test_a_server_without_counts_is_no_usage(zero_words_tokens: int | None, tokens: int | None) -> None:
    with pytest.raises(KvtopError) as raised:
        LengthModel.from_two(zero_words_tokens, 512, tokens)
    assert code_of(raised) == "no_usage"


@pytest.mark.parametrize("tokens", [56, 40, 200, 300])
def test_a_server_that_cuts_prompts_is_odd(tokens: int) -> None:
    with pytest.raises(KvtopError) as raised:
        LengthModel.from_two(56, 512, tokens)
    assert code_of(raised) == "calibration_odd"
    assert "cut" in raised.value.failure.hint


def test_a_server_that_counts_far_too_much_is_odd() -> None:
    with pytest.raises(KvtopError) as raised:
        LengthModel.from_two(56, 512, 50_000)
    assert code_of(raised) == "calibration_odd"
    assert "gateway" in raised.value.failure.hint


def test_a_gateway_with_a_long_prompt_of_its_own_is_no_fault() -> None:
    model = LengthModel.from_two(3000, 512, 3512)
    assert model.words_for(4096) == 1096


def test_a_target_below_the_template_is_refused() -> None:
    model = LengthModel.from_two(3000, 512, 3512)
    with pytest.raises(KvtopError) as raised:
        model.words_for(1024)
    assert code_of(raised) == "length_too_short"
    assert "3000" in str(raised.value)


def test_a_target_of_the_template_alone_has_no_words() -> None:
    assert LengthModel.from_two(3000, 512, 3512).words_for(3000) == 0


def test_an_assumed_model_says_so_and_takes_one_token_per_word() -> None:
    model = LengthModel.assumed()
    assert model.is_assumed
    assert model.words_for(4096) == pytest.approx(4096, rel=0.02)


def test_an_assumed_model_learns_from_the_first_count_that_words_can_have() -> None:
    model = LengthModel.assumed()
    learned = model.refined(4046, 50 + 2 * 4046)
    assert learned.tokens_per_word == pytest.approx(2.0)
    assert not learned.is_assumed
    assert model.refined(4046, 1000) is model
