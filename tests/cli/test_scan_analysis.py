"""What the notes of a run folder hand to the analysis: a base for each session, lengths that do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kvtop.cli.scan_analysis import analyse_folder
from kvtop.model.event import Event
from kvtop.runs.layout import RunFolder, create_run_folder
from kvtop.runs.manifest import Manifest, write_manifest
from kvtop.runs.writer import RunWriter

ENDPOINT = {"base_url": "http://127.0.0.1:1", "model": "m", "dialect": "openai-chat", "key_origin": "none"}
PLAN = {"lengths": [4096, 131072], "repeats": 1, "prefix": "cold"}
HEADER = "ts,pid,name,kind,uuid,gpu_mem_bytes,rss_bytes,source\n"


def folder_with(tmp_path: Path, *notes: dict[str, Any]) -> RunFolder:
    folder = create_run_folder(tmp_path, "scan", "m", 1764600000.0)
    write_manifest(
        folder,
        Manifest(
            kind="scan", state="done", created_ts=1.0, path="local", plan=dict(PLAN), endpoint=dict(ENDPOINT)
        ),
    )
    with RunWriter(folder) as writer:
        for note in notes:
            writer.event(Event(1.0, "note", note))
    rows = [f"{n / 10},{41 if n < 500 else 77},s,engine,,,{n},psutil" for n in range(1000)]
    folder.processes_csv.write_text(HEADER + "\n".join(rows) + "\n")
    return folder


def test_each_session_hands_over_its_base(tmp_path: Path) -> None:
    folder = folder_with(
        tmp_path,
        {"code": "base", "text": "b", "from_ts": 1.0, "to_ts": 2.0, "steady": True},
        {"code": "base", "text": "broken", "from_ts": "1", "to_ts": None},
        {"code": "base", "text": "b", "from_ts": 60.0, "to_ts": 61.0, "steady": True},
    )
    bases = analyse_folder(folder, "done")["memory"]["bases"]
    assert [(base["from_ts"], base["to_ts"]) for base in bases] == [(1.0, 2.0), (60.0, 61.0)]
    assert [base["engine_pids"] for base in bases] == [[41], [77]]


def test_lengths_that_were_left_out_are_told(tmp_path: Path) -> None:
    folder = folder_with(
        tmp_path,
        {"code": "over_context", "text": "t", "target_tokens": 131072, "limit_tokens": 65536},
        {"code": "over_context", "text": "t", "target_tokens": 131072},
        {"code": "over_context", "text": "broken", "target_tokens": None},
        {"code": "length_too_short", "text": "t", "target_tokens": 4096},
    )
    findings = {finding["code"]: finding for finding in analyse_folder(folder, "done")["findings"]}
    assert findings["over_context"]["evidence"] == {
        "lengths": [131072], "limit_tokens": 65536, "not_sent": [131072],
    }  # fmt: skip
