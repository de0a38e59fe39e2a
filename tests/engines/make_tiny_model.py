"""Make a tiny Llama of random weights, as a Hugging Face folder and as GGUF.

    python -m tests.engines.make_tiny_model OUT --preset base|fast|fat

Writes `OUT/hf/`, `OUT/model.gguf` (the same weights) and `OUT/kv.json` (shape and KV elements a token).
Nothing is downloaded. One Python version makes the same bytes every time: its tokenizer is trained on that
version's standard library. Replies are printable nonsense that ends by `length`: no token ends a turn early.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors.numpy import save_file

from .tiny_gguf import write_gguf
from .tiny_llama import (
    CHAT_TEMPLATE,
    CONTEXT_TOKENS,
    END_OF_TURN_ID,
    NORM_EPS,
    PAD_ID,
    PRESETS,
    ROPE_THETA,
    SPECIAL_TOKENS,
    Half,
    Shape,
    make_weights,
    printable_tokens,
    train_tokenizer,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write one JSON object, readably."""
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def write_hf(folder: Path, tokenizer: Tokenizer, weights: dict[str, Half], shape: Shape) -> None:
    """Write the Hugging Face folder: tokenizer, chat template, configuration, weights."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE, encoding="utf-8")
    token_ids = {"eos_token_id": END_OF_TURN_ID, "pad_token_id": PAD_ID}
    config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": tokenizer.get_vocab_size(),
        "hidden_size": shape.hidden,
        "intermediate_size": shape.mlp,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "max_position_embeddings": CONTEXT_TOKENS,
        "rope_theta": ROPE_THETA,
        "rms_norm_eps": NORM_EPS,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "torch_dtype": "float16",
        "bos_token_id": None,
    }
    names: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": CONTEXT_TOKENS,
        "eos_token": SPECIAL_TOKENS[END_OF_TURN_ID],
        "pad_token": SPECIAL_TOKENS[PAD_ID],
        "clean_up_tokenization_spaces": False,
    }
    write_json(folder / "config.json", config | token_ids)
    write_json(folder / "tokenizer_config.json", names)
    write_json(folder / "generation_config.json", {"do_sample": True, "temperature": 1.0} | token_ids)
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})


def make_model(out: Path, preset: str) -> None:
    """Write one preset's files into `out`."""
    shape = PRESETS[preset]
    tokenizer = train_tokenizer()
    weights = make_weights(shape, printable_tokens(tokenizer))
    write_hf(out / "hf", tokenizer, weights, shape)
    write_gguf(out / "model.gguf", tokenizer, weights, shape)
    kv = {"preset": preset, **asdict(shape), "kv_elements_per_token": shape.kv_elements_per_token}
    write_json(out / "kv.json", kv)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make a tiny Llama of random weights.")
    parser.add_argument("out", type=Path, help="folder to write")
    parser.add_argument("--preset", choices=PRESETS, default="base")
    arguments = parser.parse_args()
    make_model(arguments.out, arguments.preset)
