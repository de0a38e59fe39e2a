from __future__ import annotations

import csv
import json
import stat
import threading
from typing import TYPE_CHECKING

import pytest

from kvtop.model.failure import KvtopError
from kvtop.runs.columns import GPU_COLUMNS, PROCESS_COLUMNS, REQUEST_COLUMNS
from kvtop.runs.reader import read_events, read_findings, read_requests
from kvtop.runs.rows import csv_line, request_line
from kvtop.runs.writer import RunWriter, write_findings
from tests.runs.samples import GPU, PROCESS, RECORD, event, failed, record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kvtop.runs.layout import RunFolder


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_each_row_goes_to_its_file_at_once(folder: RunFolder) -> None:
    with RunWriter(folder) as writer:
        writer.gpu(GPU)
        writer.process(PROCESS)
        writer.request(RECORD)
        writer.event(event("progress", done=1))
        writer.findings({"findings": []})
        assert folder.gpu_csv.read_bytes().startswith(csv_line(GPU_COLUMNS))
        assert folder.processes_csv.read_bytes().startswith(csv_line(PROCESS_COLUMNS))
        assert table(folder.gpu_csv)[0]["power_w"] == "612.4"
        assert table(folder.processes_csv)[0]["pid"] == "4242"
        assert table(folder.requests_csv)[0]["id"] == "r1"
        assert read_requests(folder).records == (RECORD,)
        assert read_events(folder).events == (event("progress", done=1),)
        assert read_findings(folder) == {"findings": []}


def test_all_files_are_private(folder: RunFolder) -> None:
    with RunWriter(folder) as writer:
        writer.gpu(GPU)
        writer.process(PROCESS)
        writer.request(RECORD)
        writer.event(event("progress"))
        writer.findings({})
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.path.iterdir()}
    assert set(modes.values()) == {0o600}
    assert len(modes) == 6


def test_a_file_appears_with_its_first_row(folder: RunFolder) -> None:
    with RunWriter(folder) as writer:
        writer.event(event("started"))
    assert [path.name for path in folder.path.iterdir()] == ["events.jsonl"]


def test_the_truth_is_written_first(folder: RunFolder) -> None:
    writer = RunWriter(folder)
    folder.requests_csv.symlink_to("/dev/full")
    with pytest.raises(KvtopError):
        writer.request(RECORD)
    writer.close()
    assert read_requests(folder).records == (RECORD,)


def test_findings_are_replaced_whole(folder: RunFolder) -> None:
    write_findings(folder, {"points": list(range(1000))})
    write_findings(folder, {"points": [float("nan")]})
    assert json.loads(folder.findings_json.read_text()) == {"points": [None]}
    assert [path.name for path in folder.path.iterdir()] == ["findings.json"]


def test_a_new_run_is_not_written_into_an_old_one(folder: RunFolder) -> None:
    with RunWriter(folder) as writer:
        writer.event(event("started"))
    with pytest.raises(KvtopError) as caught:
        RunWriter(folder)
    assert caught.value.failure.code == "run_exists"


def test_a_resumed_run_goes_on_where_it_was_cut(folder: RunFolder) -> None:
    with RunWriter(folder) as writer:
        writer.gpu(GPU)
        writer.event(event("started"))
        writer.request(record("r1"))
        writer.request(failed("r2"))
    for path in (folder.gpu_csv, folder.events_jsonl, folder.requests_jsonl, folder.requests_csv):
        with path.open("ab") as file:
            file.write(b'{"id":"r3","cell":"40')
    with RunWriter(folder, resume=True) as writer:
        writer.gpu(GPU)
        writer.event(event("started"))
        writer.request(record("r2"))
    assert [row["power_w"] for row in table(folder.gpu_csv)] == ["612.4", "612.4"]
    assert read_events(folder).events == (event("started"), event("started"))
    log = read_requests(folder)
    assert log.records == (record("r1"), record("r2"))
    assert not log.warnings
    assert [(row["id"], row["failure"]) for row in table(folder.requests_csv)] == [
        ("r1", ""),
        ("r2", "truncated"),
        ("r2", ""),
    ]


def test_a_resume_rebuilds_the_flat_table_from_the_truth(folder: RunFolder) -> None:
    with RunWriter(folder) as writer:
        for number in range(3):
            writer.request(record(f"r{number}"))
        writer.request(failed("r1"))
    folder.requests_csv.write_text("lost")
    RunWriter(folder, resume=True).close()
    expected = [record("r0"), record("r2"), failed("r1")]
    assert folder.requests_csv.read_bytes() == csv_line(REQUEST_COLUMNS) + b"".join(
        map(request_line, expected)
    )


def test_threads_do_not_mix_their_rows(folder: RunFolder) -> None:
    threads, each = 8, 150
    gate = threading.Barrier(threads)
    with RunWriter(folder) as writer:

        def work(thread: int) -> None:
            gate.wait()
            for number in range(each):
                writer.request(record(f"{thread}-{number}", answer_text="x" * (thread * 300)))
                writer.event(event("request", id=f"{thread}-{number}"))
                writer.gpu(GPU)
                if number % 50 == 0:
                    writer.findings({"by": thread})

        workers = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    log, events = read_requests(folder), read_events(folder)
    assert not log.warnings
    assert not events.warnings
    assert len(log.records) == len(events.events) == len(table(folder.gpu_csv)) == threads * each
    assert {row["id"] for row in table(folder.requests_csv)} == {entry.id for entry in log.records}
    for thread in range(threads):
        own = [entry.id for entry in log.records if entry.id.startswith(f"{thread}-")]
        assert own == [f"{thread}-{number}" for number in range(each)]


def test_a_closed_writer_takes_no_rows(folder: RunFolder) -> None:
    writer = RunWriter(folder)
    writer.close()
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.gpu(GPU)


def test_a_folder_that_is_gone_is_told(folder: RunFolder) -> None:
    writer = RunWriter(folder)
    folder.path.rmdir()
    attempts: list[Callable[[], None]] = [lambda: writer.gpu(GPU), lambda: writer.findings({})]
    for write in attempts:
        with pytest.raises(KvtopError) as caught:
            write()
        assert caught.value.failure.code == "write_failed"
