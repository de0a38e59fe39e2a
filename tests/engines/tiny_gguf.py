"""The tiny Llama in llama.cpp's file format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import gguf
import numpy as np

from .tiny_llama import (
    CHAT_TEMPLATE,
    CONTEXT_TOKENS,
    END_OF_TURN_ID,
    NORM_EPS,
    PAD_ID,
    ROPE_THETA,
    SPECIAL_TOKENS,
    Half,
    Shape,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tokenizers import Tokenizer


def interleave_rope(weight: Half, heads: int) -> Half:
    """Reorder rows from Hugging Face's half-split rotary pairs to llama.cpp's neighbouring ones."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def add_vocabulary(writer: gguf.GGUFWriter, tokenizer: Tokenizer) -> None:
    """Put tokens, merges, special ids and the chat template into the GGUF header."""
    bpe = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(bpe["vocab"], key=bpe["vocab"].__getitem__)
    special, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([special if token in SPECIAL_TOKENS else normal for token in tokens])
    writer.add_token_merges([" ".join(pair) for pair in bpe["merges"]])
    writer.add_eos_token_id(END_OF_TURN_ID)
    writer.add_pad_token_id(PAD_ID)
    writer.add_add_bos_token(value=False)
    writer.add_chat_template(CHAT_TEMPLATE)


def add_tensors(writer: gguf.GGUFWriter, weights: dict[str, Half], shape: Shape) -> None:
    """Put the weights into the GGUF under llama.cpp's names; it wants norms in 32 bit."""
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, shape.layers)
    turned = {"q_proj": shape.heads, "k_proj": shape.kv_heads}
    for name, weight in weights.items():
        target = names.get_name(name, try_suffixes=(".weight",))
        if target is None:
            raise KeyError(name)
        part = name.split(".")[-2]
        value = interleave_rope(weight, turned[part]) if part in turned else weight
        writer.add_tensor(target, np.ascontiguousarray(value, np.float32 if value.ndim == 1 else np.float16))


def write_gguf(path: Path, tokenizer: Tokenizer, weights: dict[str, Half], shape: Shape) -> None:
    """Write the model for llama.cpp."""
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(shape.hidden)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.mlp)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_rope_freq_base(ROPE_THETA)
    writer.add_layer_norm_rms_eps(NORM_EPS)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    add_vocabulary(writer, tokenizer)
    add_tensors(writer, weights, shape)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
