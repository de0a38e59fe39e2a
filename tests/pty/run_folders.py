"""Run folders as a runner, a stranger or an accident leaves them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tomli_w

TS = 1764600000.0


def write_run(
    root: Path,
    name: str | bytes,
    *,
    model: str = "some/model",
    requests: list[dict[str, Any]] | None = None,
    findings: list[dict[str, str]] | None = None,
    **manifest: Any,
) -> Path:
    """Write the folder of a run that has ended, its content just as given."""
    folder = root / (name if isinstance(name, str) else name.decode("utf-8", "surrogateescape"))
    folder.mkdir(parents=True)
    table = {
        "schema": 1,
        "kind": "scan",
        "state": "done",
        "created_ts": TS,
        "ended_ts": TS + 60,
        "path": "api",
        "endpoint": {
            "base_url": "http://127.0.0.1:9",
            "model": model,
            "dialect": "openai-chat",
            "profile": model,
        },
        **manifest,
    }
    (folder / "run.toml").write_text(tomli_w.dumps(table))
    (folder / "run.lock").write_text("1\n")
    plan = {"lengths": [1024], "repeats": 1}
    started = {"ts": TS, "type": "started", "run": name, "kind": "scan", "plan": plan, "path": "api"}
    told = {**started, "run": folder.name, "model": model, "cells": 1, "simulated": False}
    _write_lines(folder / "requests.jsonl", requests or [request("r1", model=model)])
    _write_lines(folder / "events.jsonl", [told, {"ts": TS + 60, "type": "finished", "state": "done"}])
    document: dict[str, Any] = {
        "schema": "kvtop.scan/1",
        "run": folder.name,
        "path": "api",
        "points": [],
        "kv_slope": None,
    }
    (folder / "findings.json").write_text(json.dumps({**document, "findings": findings or []}))
    return folder


def request(request_id: str, **changes: Any) -> dict[str, Any]:
    """Return a line of requests.jsonl."""
    return {
        "id": request_id,
        "ts": TS,
        "end_ts": TS + 2,
        "cell": f"1024/cold/{request_id}",
        "tag": "cold",
        "dialect": "openai-chat",
        "target_tokens": 1024,
        "prompt_tokens": 1030,
        "completion_tokens": 64,
        "cached_tokens": 0,
        "usage_source": "usage",
        "ttft_s": 0.25,
        "latency_s": 2.0,
        "decode_tok_s": 36.0,
        "finish_reason": "length",
        "status": 200,
        **changes,
    }


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
