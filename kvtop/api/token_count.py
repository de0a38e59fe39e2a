"""Prompt tokens as the server's own tokenizer counts them, before a prompt is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from kvtop.api.calibration import is_plausible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kvtop.api.calibration import LengthModel
    from kvtop.model.failure import Failure

COUNTING_ROUNDS = 5
"""Prompts counted at most for one wanted length."""


class JsonReply(Protocol):
    """An answer to a JSON request: parsed `data`, or the failure that came instead."""

    @property
    def status(self) -> int | None:
        """HTTP status, None when no answer came."""

    @property
    def data(self) -> Any:
        """The parsed JSON body, None when there is none."""

    @property
    def failure(self) -> Failure | None:
        """What went wrong, None when nothing did."""


class JsonPoster(Protocol):
    """A client that posts JSON to a path of the server.

    The path is joined to the server's root (`url.root_url`), because vLLM and llama.cpp serve
    `/tokenize` beside `/v1` and not under it.
    """

    async def post_json(self, path: str, body: Mapping[str, Any]) -> JsonReply:
        """Post `body` to `path` and return the reply; failures are values."""


async def count_prompt_tokens(client: JsonPoster, model: str, prompt: str) -> int | None:
    """Return the tokens of one user message in its chat template, None where no server counts them.

    Understands vLLM (`/tokenize` of messages) and llama.cpp (`/apply-template`, then `/tokenize`).
    """
    messages = [{"role": "user", "content": prompt}]
    count = await _count_vllm(client, model, messages)
    return count if count is not None else await _count_llama_cpp(client, messages)


async def fit_words(
    count: Callable[[str], Awaitable[int | None]],
    write: Callable[[int], str],
    target_tokens: int,
    model: LengthModel,
) -> int:
    """Return the body words whose counted prompt is nearest to `target_tokens`.

    `count` counts the tokens of a prompt, `write` writes the prompt of so many words. Counting ends
    when the prompt is within one word's tokens, when the server stops counting or counts what words
    cannot cost (a cut prompt), or after `COUNTING_ROUNDS`.

    Raises KvtopError with `length_too_short` like `LengthModel.words_for`.
    """
    words = best = model.words_for(target_tokens)
    least_error: int | None = None
    for _ in range(COUNTING_ROUNDS):
        tokens = await count(write(words))
        if tokens is None:
            break
        error = target_tokens - tokens
        if least_error is None or abs(error) < least_error:
            best, least_error = words, abs(error)
        factor = _factor(model, words, tokens)
        if abs(error) <= factor or not is_plausible(factor):
            break
        words = max(words + round(error / factor), 0)
    return best


def _factor(model: LengthModel, words: int, tokens: int) -> float:
    """Return tokens per word as just counted: an assumed or spoilt factor would step past the target."""
    if words < 1:
        return model.tokens_per_word
    return (tokens - model.template_tokens) / words


async def _count_vllm(client: JsonPoster, model: str, messages: list[dict[str, str]]) -> int | None:
    body = {"model": model, "messages": messages, "add_generation_prompt": True}
    count = _field(await client.post_json("/tokenize", body), "count")
    return count if _is_count(count) else None


async def _count_llama_cpp(client: JsonPoster, messages: list[dict[str, str]]) -> int | None:
    prompt = _field(await client.post_json("/apply-template", {"messages": messages}), "prompt")
    if not isinstance(prompt, str) or not prompt:
        return None
    body = {"content": prompt, "add_special": True, "parse_special": True}
    tokens = _field(await client.post_json("/tokenize", body), "tokens")
    return len(tokens) if isinstance(tokens, list) and tokens else None


def _field(reply: JsonReply, name: str) -> Any:
    if reply.failure is not None or reply.status != 200 or not isinstance(reply.data, dict):
        return None
    return reply.data.get(name)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
