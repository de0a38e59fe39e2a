"""A tiny Llama of random weights: its shape, its tokenizer, its numbers."""

from __future__ import annotations

import sysconfig
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

Half = npt.NDArray[np.float16]

VOCAB_SIZE = 8192
CONTEXT_TOKENS = 131_072
ROPE_THETA = 1e6
NORM_EPS = 1e-5
SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
PAD_ID = SPECIAL_TOKENS.index("<|endoftext|>")
END_OF_TURN_ID = SPECIAL_TOKENS.index("<|im_end|>")
CHAT_TEMPLATE = Path(__file__).with_name("chat_template.jinja").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Shape:
    """Dimensions of a Llama."""

    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    hidden: int
    mlp: int

    @property
    def kv_elements_per_token(self) -> int:
        """Elements of K and V that one token adds to the cache, over all layers."""
        return 2 * self.layers * self.kv_heads * self.head_dim


PRESETS = {
    "base": Shape(layers=8, heads=8, kv_heads=4, head_dim=64, hidden=256, mlp=512),
    "fast": Shape(layers=2, heads=4, kv_heads=2, head_dim=64, hidden=128, mlp=256),
    "fat": Shape(layers=8, heads=16, kv_heads=16, head_dim=128, hidden=128, mlp=128),
}


def train_tokenizer() -> Tokenizer:
    """Return a byte-level BPE tokenizer trained on the standard library's source."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    sources = Path(sysconfig.get_path("stdlib")).glob("*.py")
    # _sysconfigdata names the folders of one build of Python.
    names = sorted(str(path) for path in sources if not path.name.startswith("_sysconfigdata"))
    tokenizer.train(names, trainer)
    return tokenizer


def printable_tokens(tokenizer: Tokenizer) -> npt.NDArray[np.bool_]:
    """Return, for each token id, whether it alone decodes to printable ASCII or a line break."""
    texts = [tokenizer.decode([token]) for token in range(tokenizer.get_vocab_size())]
    return np.array(
        [text == "\n" or (text != "" and text.isascii() and text.isprintable()) for text in texts]
    )


def make_weights(shape: Shape, printable: npt.NDArray[np.bool_]) -> dict[str, Half]:
    """Return the weights by their Hugging Face names; matrices keep the scale of their input."""
    random = np.random.default_rng(0)

    def matrix(rows: int, columns: int, scale: float = 1.0) -> Half:
        values = random.standard_normal((rows, columns), dtype=np.float32)
        return (values * np.float32(scale / columns**0.5)).astype(np.float16)

    vocab, hidden = len(printable), shape.hidden
    heads, kv_heads = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    ones = np.ones(hidden, np.float16)
    weights = {"model.embed_tokens.weight": matrix(vocab, hidden, hidden**0.5), "model.norm.weight": ones}
    for layer in range(shape.layers):
        matrices = {
            "self_attn.q_proj": matrix(heads, hidden),
            "self_attn.k_proj": matrix(kv_heads, hidden),
            "self_attn.v_proj": matrix(kv_heads, hidden),
            "self_attn.o_proj": matrix(hidden, heads),
            "mlp.gate_proj": matrix(shape.mlp, hidden),
            "mlp.up_proj": matrix(shape.mlp, hidden),
            "mlp.down_proj": matrix(hidden, shape.mlp),
            "input_layernorm": ones,
            "post_attention_layernorm": ones,
        }
        weights |= {f"model.layers.{layer}.{name}.weight": value for name, value in matrices.items()}
    # Printable tokens get logits of about N(0, 4²), all others exactly 0: some e⁻⁸ as likely.
    weights["lm_head.weight"] = matrix(vocab, hidden, 4.0) * printable[:, None].astype(np.float16)
    return weights
