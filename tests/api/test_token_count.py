from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from kvtop.api.calibration import LengthModel
from kvtop.api.prompts import PromptWriter
from kvtop.api.token_count import COUNTING_ROUNDS, count_prompt_tokens, fit_words
from kvtop.model.failure import Failure, KvtopError

from .piecewise_tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CHAT = "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
CHAT_TOKENS = [1, 1560, 201, 282, 78, 333, 2, 201, 1, 3629, 617, 793, 201]


@dataclass(frozen=True, slots=True)
class Reply:
    status: int | None
    data: Any = None
    failure: Failure | None = None


NOT_FOUND = Reply(404, {"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}})
UNREACHABLE = Reply(None, None, Failure("unreachable", "Connection refused.", "Start the server."))


@dataclass(slots=True)
class Server:
    """Answers as its `answer` function says, and keeps what was asked."""

    answer: Callable[[str, Mapping[str, Any]], Reply]
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def post_json(self, path: str, body: Mapping[str, Any]) -> Reply:
        self.asked.append((path, dict(body)))
        return self.answer(path, body)


def vllm(path: str, body: Mapping[str, Any]) -> Reply:
    """As vLLM 0.32 answers; the count was also the answer's `usage.prompt_tokens`."""
    if path != "/tokenize" or "messages" not in body:
        return Reply(404, {"detail": "Not Found"})
    return Reply(200, {"count": 13, "max_model_len": 10000, "tokens": CHAT_TOKENS, "token_strs": None})


def llama_cpp(path: str, body: Mapping[str, Any]) -> Reply:
    """As llama.cpp answers: to messages, `/tokenize` says 200 with no tokens, and never counts."""
    if path == "/apply-template":
        return Reply(200, {"prompt": CHAT})
    if path == "/tokenize" and body.get("content") == CHAT and body.get("parse_special"):
        return Reply(200, {"tokens": CHAT_TOKENS})
    return Reply(200, {"tokens": []}) if path == "/tokenize" else NOT_FOUND


async def test_vllm_counts_the_chat_with_its_generation_prompt() -> None:
    server = Server(vllm)
    assert await count_prompt_tokens(server, "tiny", "hello") == 13
    messages = [{"role": "user", "content": "hello"}]
    body = {"model": "tiny", "messages": messages, "add_generation_prompt": True}
    assert server.asked == [("/tokenize", body)]


async def test_llama_cpp_counts_the_rendered_chat() -> None:
    server = Server(llama_cpp)
    assert await count_prompt_tokens(server, "tiny", "hello") == len(CHAT_TOKENS)
    assert [path for path, _ in server.asked] == ["/tokenize", "/apply-template", "/tokenize"]
    assert server.asked[2][1] == {"content": CHAT, "add_special": True, "parse_special": True}


@pytest.mark.parametrize(
    "reply",
    [
        NOT_FOUND,
        UNREACHABLE,
        Reply(200, None),
        Reply(200, []),
        Reply(200, "text"),
        Reply(200, {}),
        Reply(200, {"count": 0, "tokens": [], "prompt": ""}),
        Reply(200, {"count": True, "tokens": 13, "prompt": 5}),
        Reply(200, {"count": "13", "tokens": "13", "prompt": None}),
        Reply(200, {"count": -3, "prompt": CHAT, "tokens": None}),
        Reply(500, {"count": 13, "prompt": CHAT, "tokens": [1]}),
        Reply(200, {"count": 13, "prompt": CHAT, "tokens": [1]}, Failure("bad_answer", "cut off")),
    ],
)
async def test_a_server_that_does_not_count_gives_none(reply: Reply) -> None:
    server = Server(lambda path, body: reply)
    assert await count_prompt_tokens(server, "tiny", "hello") is None


class Counter:
    """Counts with a given function and remembers how often."""

    def __init__(self, count: Callable[[str], int | None]) -> None:
        self._count = count
        self.rounds = 0

    async def __call__(self, prompt: str) -> int | None:
        self.rounds += 1
        return self._count(prompt)


@pytest.mark.parametrize("target", [256, 1024, 4096, 20000])
@pytest.mark.parametrize("per_word", [1.0, 2.0, 3.5])
async def test_fitting_reaches_the_target_within_a_word(target: int, per_word: float) -> None:
    writer = PromptWriter(5)
    model = LengthModel(per_word, 60, weight=1)
    count = Counter(count_tokens)
    words = await fit_words(count, lambda words: writer.cold(3, words), target, model)
    assert count_tokens(writer.cold(3, words)) == pytest.approx(target, abs=4)
    assert count.rounds <= COUNTING_ROUNDS


async def test_fitting_ends_at_once_when_the_model_is_right() -> None:
    count = Counter(len)
    assert (
        await fit_words(count, lambda words: "x" * (50 + words), 1050, LengthModel(1.0, 50, weight=1)) == 1000
    )
    assert count.rounds == 1


async def test_without_counts_the_models_own_answer_stays() -> None:
    count = Counter(lambda prompt: None)
    assert await fit_words(count, lambda words: "", 1050, LengthModel(1.0, 50, weight=1)) == 1000
    assert count.rounds == 1


async def test_a_count_that_fails_later_keeps_the_best_so_far() -> None:
    counts = iter([900, None])
    count = Counter(lambda prompt: next(counts))
    assert await fit_words(count, lambda words: "", 1050, LengthModel(1.0, 50, weight=1)) == 1000


async def test_counts_that_jump_end_after_some_rounds_at_the_best() -> None:
    counts = iter([800, 1500, 900, 1060, 700])
    written: list[int] = []

    def write(words: int) -> str:
        written.append(words)
        return ""

    words = await fit_words(Counter(lambda prompt: next(counts)), write, 1050, LengthModel(1.0, 50, weight=1))
    assert len(written) == COUNTING_ROUNDS
    assert words == written[3]


@pytest.mark.parametrize("capped", [4096, 60, 50, 1])
async def test_a_server_that_cuts_what_it_counts_does_not_make_prompts_grow(capped: int) -> None:
    count = Counter(lambda prompt: capped)
    assert await fit_words(count, lambda words: "", 131072, LengthModel(1.0, 50, weight=1)) == 131022
    assert count.rounds == 1


async def test_fitting_refuses_a_target_below_the_template() -> None:
    with pytest.raises(KvtopError) as raised:
        await fit_words(Counter(len), lambda words: "", 40, LengthModel(1.0, 50, weight=1))
    assert raised.value.failure.code == "length_too_short"
