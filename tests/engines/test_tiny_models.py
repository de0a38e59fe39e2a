"""The tiny models are the same every time, and their KV size is what their files say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from . import tiny_models
from .tiny_models import Preset, TinyModel, TinyModels

if TYPE_CHECKING:
    from pathlib import Path


def bytes_by_name(folder: Path) -> dict[str, bytes]:
    """Return what a folder holds."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_same_bytes_every_time(tmp_path: Path) -> None:
    tiny_models.make("fast", tmp_path / "once")
    tiny_models.make("fast", tmp_path / "again")
    once = bytes_by_name(tmp_path / "once")
    assert {"model.gguf", "kv.json", "hf/config.json", "hf/model.safetensors"} <= set(once)
    assert once == bytes_by_name(tmp_path / "again")


@pytest.mark.parametrize(("preset", "elements"), [("base", 4096), ("fast", 512), ("fat", 32_768)])
def test_kv_elements_follow_from_the_configuration(
    tiny_models: TinyModels, preset: Preset, elements: int
) -> None:
    model = tiny_models.model(preset)
    config = json.loads((model.hf / "config.json").read_text())
    rows = config["num_key_value_heads"] * config["head_dim"]
    assert model.kv_elements_per_token == 2 * config["num_hidden_layers"] * rows == elements


def test_model_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def fake_make(preset: Preset, out: Path) -> None:
        made.append(preset)
        out.mkdir()
        (out / "kv.json").write_text('{"preset": "fast", "kv_elements_per_token": 512}')

    monkeypatch.setattr(tiny_models, "make", fake_make)
    models = TinyModels(tmp_path)
    assert models.model("fast") == models.model("fast")
    assert made == ["fast"]


def test_loser_of_a_race_takes_the_winners_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / tiny_models.version() / "fast"

    def slow_make(preset: Preset, out: Path) -> None:
        for place, elements in ((folder, 512), (out, 1)):
            place.mkdir()
            (place / "kv.json").write_text(json.dumps({"preset": preset, "kv_elements_per_token": elements}))

    monkeypatch.setattr(tiny_models, "make", slow_make)
    assert TinyModels(tmp_path).model("fast") == TinyModel("fast", folder, 512)
    assert [path.name for path in folder.parent.iterdir()] == ["fast"]


def test_failed_make_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken_make(preset: Preset, out: Path) -> None:
        out.mkdir()
        raise OSError("disk full")

    monkeypatch.setattr(tiny_models, "make", broken_make)
    with pytest.raises(OSError, match="disk full"):
        TinyModels(tmp_path).model("fast")
    assert list((tmp_path / tiny_models.version()).iterdir()) == []
