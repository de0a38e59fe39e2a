"""The tiny models on disk: made once, kept in the engines' folder."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

Preset = Literal["base", "fast", "fat"]

HERE = Path(__file__).parent
SOURCES = ("make_tiny_model.py", "tiny_llama.py", "tiny_gguf.py", "chat_template.jinja")


@dataclass(frozen=True, slots=True)
class TinyModel:
    """One model: the same weights for every engine."""

    preset: str
    folder: Path
    kv_elements_per_token: int
    """Elements of K and V that one token adds to the cache; times the element's bytes it is the KV size."""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `make_tiny_model` wrote."""
        kv = json.loads((folder / "kv.json").read_text(encoding="utf-8"))
        return cls(kv["preset"], folder, kv["kv_elements_per_token"])

    @property
    def hf(self) -> Path:
        """The Hugging Face folder."""
        return self.folder / "hf"

    @property
    def gguf(self) -> Path:
        """The file for llama.cpp."""
        return self.folder / "model.gguf"


@dataclass(frozen=True, slots=True)
class TinyModels:
    """The models of one version of the maker; each is made when it is first asked for."""

    cache: Path

    def model(self, preset: Preset) -> TinyModel:
        """Return one model, making it where it is not there yet."""
        folder = self.cache / version() / preset
        if not folder.exists():
            self._make(preset, folder)
        return TinyModel.read(folder)

    def _make(self, preset: Preset, folder: Path) -> None:
        """Make it beside its place and move it there, so that two test runs at once both find whole files."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as workplace:
            made = Path(workplace) / preset
            make(preset, made)
            try:
                made.rename(folder)
            except OSError:
                if not folder.exists():
                    raise


def make(preset: Preset, out: Path) -> None:
    """Run the maker in a process of its own."""
    command = [sys.executable, "-m", f"{__package__}.make_tiny_model", str(out), "--preset", preset]
    root = HERE.parents[len(str(__package__).split(".")) - 1]
    subprocess.run(command, cwd=root, check=True, env=os.environ | {"PYTHONPATH": str(root)})


def version() -> str:
    """Return a short name for the maker's source and the Python whose library trains the tokenizer."""
    digest = hashlib.sha256(platform.python_version().encode())
    for name in SOURCES:
        digest.update((HERE / name).read_bytes())
    return f"models-{digest.hexdigest()[:12]}"
