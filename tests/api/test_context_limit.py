import pytest

from kvtop.api.context_limit import ContextLimit, find_context_limit

OPENAI = "This model's maximum context length is {} tokens. However, "


@pytest.mark.parametrize(
    ("message", "limit", "asked"),
    [
        (OPENAI.format(4096) + "your prompt contains 5000 input tokens, which exceeds it.", 4096, 5000),
        (
            OPENAI.format("32,768") + "you requested 64 output tokens and your prompt contains at least 32705"
            " input tokens, for a total of at least 32769 tokens.",
            32768,
            32705,
        ),
        (
            OPENAI.format(4097) + "you requested 5000 tokens (4500 in the messages, 500 in the completion)."
            " Please reduce the length of the messages or completion.",
            4097,
            4500,
        ),
        (
            "Requested token count exceeds the model's maximum context length of 32768 tokens. You"
            " requested a total of 40000 tokens: 30000 tokens from the input messages, 10000 for the rest.",
            32768,
            30000,
        ),
        ("The input (9000 tokens) is longer than the model's context length (8192 tokens).", 8192, 9000),
        ("request (5000 tokens) exceeds the available context size (4096 tokens), try it", 4096, 5000),
        ("prompt is too long: 213000 tokens > 200000 maximum", 200000, 213000),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", 200000, 190000),
        ("The input token count (12) exceeds the maximum number of tokens allowed (10).", 10, 12),
        (
            "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
            131072,
            140000,
        ),
        (
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000"
            " tokens (139000 of text input, 1000 in the output).",
            131072,
            139000,
        ),
        (OPENAI.format(131072) + "you requested about 140000 tokens.", 131072, 140000),
        ("Invalid request: Your request exceeded model token limit: 262144", 262144, None),
        ("Your request exceeded model token limit: 262144 (requested: 300000)", 262144, 300000),
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum"
            " context length",
            32768,
            40000,
        ),
        ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 8740 `inputs` tokens", 4096, 8740),
        ("prompt token count of 9000 exceeds the limit of 8000", 8000, 9000),
        ("Current length is 9000 while limit is 8192", 8192, 9000),
        ("maximum context length is 8192 tokens", 8192, None),
        ("the request exceeds the available context size", None, None),
        ("Your input exceeds the context window of this model.", None, None),
        ("context window exceeds limit", None, None),
        ("input length is greater than the context length", None, None),
        ("Input is too long for requested model.", None, None),
        ("Prompt 超长", None, None),
    ],
)
def test_recognised(message: str, limit: int | None, asked: int | None) -> None:
    assert find_context_limit(message) == ContextLimit(limit, asked)


@pytest.mark.parametrize(
    "message",
    [
        "Rate limit reached for requests",
        "Request too large on tokens per min (TPM): Limit 10000, Requested 12000",
        "max_tokens must be at least 1",
        "",
    ],
)
def test_other_refusals(message: str) -> None:
    assert find_context_limit(message) is None


def test_absurd_numbers_are_unknown() -> None:
    assert find_context_limit(f"prompt is too long: {'9' * 5000} tokens > 100 maximum") == ContextLimit(
        100, None
    )
