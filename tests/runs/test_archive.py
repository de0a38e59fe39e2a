from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kvtop.model.failure import Failure, KvtopError
from kvtop.runs.archive import RunSummary, find_run, list_runs
from kvtop.runs.layout import RunFolder, create_run_folder
from kvtop.runs.lock import RunLock
from kvtop.runs.manifest import write_manifest
from kvtop.runs.writer import RunWriter
from tests.runs.samples import MANIFEST, TS, event, failed, record

ENDPOINT = {"model": "Qwen/Qwen3-8B", "profile": "lab"}


def make(root: Path, age_s: float = 0, model: str = "m", **changes: Any) -> RunFolder:
    folder = create_run_folder(root, "scan", model, TS - age_s)
    write_manifest(folder, replace(MANIFEST, created_ts=TS - age_s, endpoint=ENDPOINT, **changes))
    return folder


def refusal(root: Path, text: str) -> Failure:
    with pytest.raises(KvtopError) as caught:
        find_run(root, text)
    return caught.value.failure


def test_a_missing_archive_is_empty(root: Path) -> None:
    assert list_runs(root) == []
    failure = refusal(root, "latest")
    assert failure.code == "no_such_run"
    assert "no runs" in failure.hint


def test_an_archive_that_is_a_file_is_told(root: Path) -> None:
    root.touch()
    with pytest.raises(KvtopError) as caught:
        list_runs(root)
    assert caught.value.failure.code == "unreadable_folder"


def test_a_run_is_summed_up(root: Path) -> None:
    folder = make(root, ended_ts=TS + 9, state="failed", demo="paged")
    with RunWriter(folder) as writer:
        writer.request(record("a"))
        writer.request(failed("b"))
        writer.request(failed("b"))
        writer.event(event("finished", state="failed"))
    assert list_runs(root) == [
        RunSummary(
            folder.id,
            folder.path,
            "failed",
            kind="scan",
            model="Qwen/Qwen3-8B",
            profile="lab",
            created_ts=TS,
            ended_ts=TS + 9,
            requests=2,
            failed=1,
            simulated=True,
        )
    ]
    assert json.loads(json.dumps(list_runs(root)[0].to_json()))["path"] == str(folder.path)


def test_runs_are_listed_newest_first(root: Path) -> None:
    ages = [30, 10, 20, 0]
    made = {age: make(root, age).id for age in ages}
    assert [summary.id for summary in list_runs(root)] == [made[age] for age in sorted(ages)]
    assert find_run(root, "latest").id == made[0]


def test_an_imported_run_keeps_its_place(root: Path) -> None:
    make(root, 10).path.rename(root / "from-a-colleague")
    newer = make(root)
    assert [summary.id for summary in list_runs(root)] == [newer.id, "from-a-colleague"]


def test_only_a_held_run_is_running(root: Path) -> None:
    folder = make(root)
    assert list_runs(root)[0].state == "interrupted"
    with RunLock.hold(folder):
        assert list_runs(root)[0].state == "running"


def test_what_is_no_run_is_left_out(root: Path) -> None:
    root.mkdir()
    (root / "notes.txt").touch()
    (root / "20251201T144000Z-scan-file").touch()
    (root / "lost+found").mkdir()
    (root / ".hidden").mkdir()
    (root / "20251201T144000Z-scan-link").symlink_to(root / "nowhere")
    assert list_runs(root) == []


def test_an_unreadable_run_is_listed_with_its_problem(root: Path) -> None:
    empty = create_run_folder(root, "scan", "empty", TS)
    newer = create_run_folder(root, "scan", "newer", TS - 1)
    newer.run_toml.write_text("schema = 9")
    with RunWriter(newer) as writer:
        writer.event(event("finished", state="done"))
    first, second = list_runs(root)
    assert (first.id, first.created_ts, first.kind, first.state) == (empty.id, TS - 0.25, None, "interrupted")
    assert first.problem is not None
    assert "No such file" in first.problem
    assert (second.id, second.state) == (newer.id, "done")
    assert second.problem is not None
    assert "newer kvtop" in second.problem
    assert refusal(root, "latest").code == "no_such_run"


def test_a_request_log_that_cannot_be_read_is_a_problem_and_not_zero(root: Path) -> None:
    folder = make(root)
    folder.requests_jsonl.mkdir()
    (summary,) = list_runs(root)
    assert (summary.requests, summary.failed, summary.kind) == (None, None, "scan")
    assert summary.problem is not None


def test_a_time_that_is_none_is_unknown(root: Path) -> None:
    (root / "99999999T999999Z-scan-m").mkdir(parents=True)
    (summary,) = list_runs(root)
    assert summary.created_ts is None


def test_a_run_is_found_by_id_beginning_part_and_path(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older, newer = make(root, 3600, "llama"), make(root, 0, "qwen")
    assert find_run(root, older.id) == older
    assert find_run(root, older.id[:12]) == older
    assert find_run(root, "QWEN") == newer
    assert find_run(root / "elsewhere", f"{older.path}/") == older
    monkeypatch.chdir(root.parent)
    assert find_run(root / "elsewhere", f"runs/{older.id}").id == older.id
    monkeypatch.chdir(older.path)
    assert find_run(root / "elsewhere", f".{os.sep}").id == older.id


def test_an_exact_id_wins_over_longer_ones(root: Path) -> None:
    first, second = make(root), make(root)
    assert second.id == f"{first.id}-2"
    assert find_run(root, first.id) == first


def test_a_beginning_wins_over_a_part(root: Path) -> None:
    older = make(root, 86400, "x-20251201")
    newer = make(root)
    assert find_run(root, "20251201") == newer
    assert find_run(root, "x-2025") == older


def test_an_ambiguous_text_names_the_candidates(root: Path) -> None:
    made = [make(root, age, "llama") for age in range(10)]
    failure = refusal(root, "llama")
    assert failure.code == "ambiguous_run"
    assert made[0].id in failure.hint
    assert failure.hint.endswith("and 2 more.")
    assert "10 runs" in failure.text


def test_an_unknown_run_names_the_nearest(root: Path) -> None:
    folder = make(root, 0, "llama")
    failure = refusal(root, folder.id.replace("llama", "lamma"))
    assert failure.code == "no_such_run"
    assert folder.id in failure.hint
    assert "runs list" in refusal(root, "zzz").hint


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "..",
        "/",
        "../..",
        "~nobody-there/x",
        "/etc/passwd",
        "a\x00/b",
        "x" * 5000,
        "/" + "y" * 5000,
        "\x1b[31m",
    ],
)
def test_hostile_text_finds_nothing_in_words(root: Path, text: str) -> None:
    make(root)
    failure = refusal(root, text)
    assert failure.code == "no_such_run"
    assert "\x1b" not in str(failure)
    assert len(failure.text) < 200
