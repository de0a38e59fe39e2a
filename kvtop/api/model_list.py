"""The list of models in the shapes that servers give it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtop.api.exchange import ModelInfo, ModelList
from kvtop.api.foreign_json import as_count, as_list, as_object, as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MAX_MODELS = 5000
_CONTEXT_KEYS = ("max_model_len", "context_length", "context_window", "max_context_length")


def read_models(document: Any, clean: Callable[[str], str]) -> ModelList | None:
    """Return the models in `document`, None when it is no model list.

    Understands OpenAI's `data`, a bare list, and `models`; the context is vLLM's `max_model_len`,
    llama.cpp's `meta.n_ctx` or a gateway's `context_length`.
    """
    listed = as_object(document).get("data", as_object(document).get("models", document))
    if not isinstance(listed, list):
        return None
    entries = [_read(item, clean) for item in as_list(listed)[:_MAX_MODELS]]
    models = tuple(entry for entry in entries if entry is not None)
    return ModelList(models) if models or not listed else None


def _read(item: Any, clean: Callable[[str], str]) -> ModelInfo | None:
    entry: Mapping[str, Any] = {"id": item} if isinstance(item, str) else as_object(item)
    model_id = clean(as_text(entry.get("id")) or as_text(entry.get("name")))
    if not model_id:
        return None
    counts = [as_count(entry.get(key)) for key in _CONTEXT_KEYS]
    counts.append(as_count(as_object(entry.get("meta")).get("n_ctx")))
    context = next((count for count in counts if count), None)
    return ModelInfo(model_id, context, clean(as_text(entry.get("owned_by"))) or None)
