from __future__ import annotations

import pytest

from kvtop.runs.archive import effective_state
from kvtop.runs.layout import RunFolder
from kvtop.runs.lock import RunLock
from kvtop.runs.reader import complete_bytes, read_events, read_requests
from kvtop.runs.writer import RunWriter
from tests.runs.processes import child, heard
from tests.runs.samples import event, record


@pytest.mark.parametrize("rows", [1, 60, 200])
def test_what_was_written_before_a_kill_is_all_there(folder: RunFolder, rows: int) -> None:
    with child("stream", folder) as process:
        said = [heard(process) for _ in range(rows)]
        process.kill()
        process.wait()
    assert said == [str(number) for number in range(rows)]

    log, events = read_requests(folder), read_events(folder)
    ids = [entry.id for entry in log.records]
    assert ids == [f"r{number}" for number in range(len(ids))]
    assert len(ids) >= rows
    assert sum(entry.type == "request" for entry in events.events) in (len(ids), len(ids) - 1)
    assert complete_bytes(folder.gpu_csv).count(b"\n") >= rows + 1
    assert effective_state(folder) == "interrupted"


def test_a_killed_run_is_resumed(folder: RunFolder) -> None:
    with child("stream", folder) as process:
        heard(process)
        process.kill()
        process.wait()
    before = read_requests(folder).records
    with RunLock.hold(folder), RunWriter(folder, resume=True) as writer:
        writer.request(record("next"))
        writer.event(event("finished", state="done"))
    assert read_requests(folder).records == (*before, record("next"))
    assert effective_state(folder) == "done"
