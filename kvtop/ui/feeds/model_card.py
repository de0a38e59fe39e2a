"""What an engine's list of models tells about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from kvtop.model.text import clean_text

_ENGINES = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "lmdeploy": "LMDeploy",
    "tensorrt_llm": "TensorRT-LLM",
    "llamacpp": "llama.cpp",
    "library": "Ollama",
    "kvtop-simulator": "SIMULATED engine",
}
"""Names of engines by the `owned_by` of their models."""

_CONTEXT_KEYS = ("max_model_len", "context_length", "context_window", "max_context_length")


@dataclass(frozen=True, slots=True)
class ModelCard:
    """One entry of the list. None where the server does not tell."""

    model: str
    engine: str | None
    context_tokens: int | None


def read_cards(body: bytes) -> tuple[ModelCard, ...]:
    """Return the entries of the answer to GET /v1/models. Raises ValueError when it is no such list."""
    document = json.loads(body)
    listed = document.get("data", document.get("models")) if isinstance(document, dict) else document
    if not isinstance(listed, list):
        raise ValueError("no list of models")  # noqa: TRY004 - malformed JSON content is a ValueError
    return tuple(_card(entry) for entry in listed if isinstance(entry, dict) and _model(entry))


def choose_card(cards: tuple[ModelCard, ...], model: str) -> ModelCard | None:
    """Return the entry of `model`, or the only one; None where it cannot be told which is meant."""
    named = next((card for card in cards if card.model == model), None)
    return named or (cards[0] if len(cards) == 1 else None)


def _model(entry: dict[str, Any]) -> str:
    return clean_text(entry.get("id") or entry.get("name") or "")


def _card(entry: dict[str, Any]) -> ModelCard:
    meta = entry.get("meta")
    counts = [entry.get(key) for key in _CONTEXT_KEYS]
    counts.append(meta.get("n_ctx") if isinstance(meta, dict) else None)
    context = next((count for count in counts if type(count) is int and count > 0), None)
    owner = entry.get("owned_by")
    return ModelCard(_model(entry), _ENGINES.get(owner) if isinstance(owner, str) else None, context)
