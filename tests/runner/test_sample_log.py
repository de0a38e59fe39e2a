from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kvtop.cli.scan_analysis import analyse_folder
from kvtop.model.event import Event
from kvtop.model.failure import KvtopError
from kvtop.model.reading import GpuDevice, GpuReading, ProcessReading
from kvtop.runner.folder_log import FolderLog
from kvtop.runner.sample_log import SampleLog
from kvtop.runs.layout import RunFolder, create_run_folder
from kvtop.runs.manifest import Manifest, read_manifest
from kvtop.runs.reader import complete_bytes, read_events
from kvtop.runs.writer import RunWriter
from kvtop.telemetry.sampler import Sample

DEVICE = GpuDevice(0, "GPU-0", "GPU")


def sample(number: int) -> Sample:
    ts = 100.0 + number
    engine = ProcessReading(ts, 7, "engine", "engine", rss_bytes=number)
    return Sample(ts, (GpuReading(ts, DEVICE, mem_used_bytes=number),), (engine,))


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return create_run_folder(tmp_path, "scan", "m", 1764600000.0)


@pytest.fixture
def writer(folder: RunFolder) -> Iterator[RunWriter]:
    with RunWriter(folder) as open_writer:
        yield open_writer


def test_samples_are_on_disk_in_order_after_a_flush(folder: RunFolder, writer: RunWriter) -> None:
    samples = SampleLog(writer)
    samples.start()
    for number in range(200):
        samples.put(sample(number))
    assert samples.flush()
    lines = complete_bytes(folder.gpu_csv).decode().splitlines()[1:]
    assert [float(line.partition(",")[0]) for line in lines] == [100.0 + n for n in range(200)]
    assert len(complete_bytes(folder.processes_csv).splitlines()) == 201
    samples.close()
    assert samples.failure is None


def test_what_was_handed_over_before_the_end_is_written(folder: RunFolder, writer: RunWriter) -> None:
    samples = SampleLog(writer)
    samples.start()
    samples.put(sample(1))
    samples.close()
    assert len(complete_bytes(folder.gpu_csv).splitlines()) == 2
    assert samples.flush()


def test_a_write_failure_surfaces_with_the_next_event_and_the_run_is_still_closed(
    folder: RunFolder, writer: RunWriter
) -> None:
    folder.gpu_csv.symlink_to("/dev/full")
    manifest = Manifest(
        kind="scan", state="running", created_ts=1.0, path="local", plan={"lengths": [400], "repeats": 1}
    )
    samples = SampleLog(writer)
    samples.start()
    log = FolderLog(folder, manifest, writer, samples, analyse_folder)
    log.remember(answer_tokens=4)
    log.note("fine", "Nothing is wrong yet.")
    samples.put(sample(1))
    assert samples.flush()
    assert samples.failure is not None
    assert samples.failure.code == "disk_full"
    with pytest.raises(KvtopError) as caught:
        log.progress(1, 2, 0.5, None, 10)
    assert caught.value.failure == samples.failure
    samples.close()
    folder.gpu_csv.unlink()
    assert log.finished("failed", str(samples.failure)) is None
    assert read_manifest(folder).state == "failed"
    assert [event.type for event in read_events(folder).events if event.type != "finding"] == [
        "note",
        "finished",
    ]


def test_closing_tries_every_part_and_returns_the_first_failure(folder: RunFolder, writer: RunWriter) -> None:
    plan = {"lengths": [400], "repeats": 1}
    manifest = Manifest(kind="scan", state="running", created_ts=1.0, path="local", plan=plan)
    samples = SampleLog(writer)
    log = FolderLog(folder, manifest, writer, samples, analyse_folder)
    log.remember(answer_tokens=4)
    writer.event(Event(1.0, "note", {}))
    folder.findings_json.mkdir()
    failure = log.finished("done", "")
    assert failure is not None
    assert failure.code == "write_failed"
    assert log.document["points"][0]["target_tokens"] == 400
    assert read_manifest(folder).state == "done"
    assert read_events(folder).events[-1].type == "finished"
