"""Refusals in the words and the shape of vLLM."""

from __future__ import annotations

from typing import Any

from kvtop.model.text import clean_text


class Refusal(Exception):  # noqa: N818 - it is an answer, not an error of ours
    """A request that is answered with an error. `body` is the JSON to send."""

    def __init__(self, status: int, kind: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body: dict[str, Any] = {
            "error": {"message": message, "type": kind, "param": param, "code": status}
        }


def bad_request(message: str, param: str | None = None) -> Refusal:
    """Return a refusal of what the request says."""
    return Refusal(400, "BadRequestError", message, param)


def unknown_model(model: object) -> Refusal:
    """Return the refusal of a model that is not served here."""
    return Refusal(404, "NotFoundError", f"The model `{clean_text(model, 120)}` does not exist.", "model")


def too_long(context: int, prompt_tokens: int, max_tokens: int) -> Refusal:
    """Return the refusal of a prompt and answer that exceed the context, all in tokens."""
    return bad_request(
        f"This model's maximum context length is {context} tokens. However, you requested {max_tokens} "
        f"output tokens and your prompt contains at least {prompt_tokens} input tokens, for a total of at "
        f"least {prompt_tokens + max_tokens} tokens. Please reduce the length of the input prompt or the "
        f"number of requested output tokens. (parameter=input_tokens, value={prompt_tokens})",
        "input_tokens",
    )
