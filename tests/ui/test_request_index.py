from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kvtop.ui.requests.index as index_module
from kvtop.ui.requests.filter import RequestFilter, parse_filter
from kvtop.ui.requests.index import FileIndex
from kvtop.ui.requests.live_rows import LiveRows
from kvtop.ui.requests.loader import RowLoader
from kvtop.ui.requests.row_view import RowView
from kvtop.ui.requests.scroll import ScrollPlace
from kvtop.ui.requests.search import search
from tests.ui.request_samples import failed, sample, samples, write_log

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kvtop.ui.requests.log_row import RequestRows


def wanted(text: str) -> RequestFilter:
    found, complaint = parse_filter(text)
    assert found is not None
    assert complaint == ""
    return found


def indexed(path: Path) -> FileIndex:
    index = FileIndex(path, "run")
    while index.read_older():
        pass
    return index


def ids(index: FileIndex) -> list[str]:
    index.load(list(index.span))
    rows = [index.row(number) for number in index.span]
    return [row.record.id if row and row.record else "?" for row in rows]


@pytest.mark.parametrize("chunk_bytes", [1, 7, 64, 300, 1000, 1 << 18])
def test_lines_are_found_whatever_the_chunks_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int
) -> None:
    monkeypatch.setattr(index_module, "CHUNK_BYTES", chunk_bytes)
    write_log(path := tmp_path / "r", (*samples(9), sample(9, model="ü多" * 40)))
    index = indexed(path)
    assert index.span == range(-10, 0)
    assert ids(index) == [f"{n:05}" for n in range(10)]
    row = index.row(-1)
    assert row is not None
    assert row.record == sample(9, model="ü多" * 40)
    assert row.run_id == "run"


@given(
    lines=st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line), max_size=30),
    tail=st.binary(max_size=40).filter(lambda line: b"\n" not in line),
    chunk_bytes=st.integers(1, 50),
)
def test_any_bytes(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], tail: bytes, chunk_bytes: int
) -> None:
    path = tmp_path_factory.mktemp("any") / "r"
    path.write_bytes(b"".join(line + b"\n" for line in lines) + tail)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "CHUNK_BYTES", chunk_bytes)
        index = indexed(path)
        index.read_newer()
    assert len(index.span) == sum(bool(line) for line in lines)
    assert index.failure is None
    index.load(list(index.span))
    assert all(index.row(number) for number in index.span)


def test_the_newest_rows_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "CHUNK_BYTES", 2000)
    write_log(path := tmp_path / "r", samples(100))
    index = FileIndex(path)
    assert index.read_older()
    index.load([-1])
    row = index.row(-1)
    assert row is not None
    assert row.record == sample(99)
    assert not index.complete


def test_the_last_of_two_lines_with_one_id_counts(tmp_path: Path) -> None:
    write_log(path := tmp_path / "r", (sample(0), failed(1), sample(2), sample(1), sample(3)))
    index = indexed(path)
    assert ids(index) == ["00000", "00002", "00001", "00003"]
    row = index.row(-2)
    assert row is not None
    assert row.record == sample(1)


def test_an_id_is_found_where_another_writer_puts_spaces(tmp_path: Path) -> None:
    path = tmp_path / "r"
    path.write_text("".join(json.dumps(sample(n % 2).to_json()) + "\n" for n in range(4)))
    assert ids(indexed(path)) == ["00000", "00001"]


def test_a_cut_line_is_a_row_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "r"
    whole = json.dumps(sample(2).to_json()) + "\n"
    write_log(path, samples(2), end="\n" + whole[:50])
    index = indexed(path)
    assert index.span == range(-2, 0)
    assert not index.read_newer()
    with path.open("a") as file:
        file.write(whole[50:])
    assert index.read_newer()
    assert index.span == range(-2, 1)
    assert ids(index)[-1] == "00002"


def test_a_file_that_comes_later(tmp_path: Path) -> None:
    index = indexed(path := tmp_path / "r")
    assert (index.span, index.complete, index.failure) == (range(0), True, None)
    write_log(path, samples(3))
    assert index.read_newer()
    assert index.span == range(3)


@pytest.mark.parametrize("change", ["replace", "cut", "remove", "again"])
def test_a_file_that_is_no_longer_the_same_is_outdated(tmp_path: Path, change: str) -> None:
    write_log(path := tmp_path / "r", samples(5))
    index = indexed(path)
    if change == "replace":
        write_log(tmp_path / "new", samples(9))
        (tmp_path / "new").replace(path)
    elif change == "cut":
        os.truncate(path, 10)
    elif change == "remove":
        path.unlink()
    else:
        write_log(path, (*samples(5), sample(3)))
    index.read_newer()
    assert index.outdated


def test_a_folder_a_pipe_and_a_file_of_someone_else(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        index = indexed(path)
        assert index.failure is not None
        assert index.failure.code == "unreadable_run"
        assert "permissions" in index.failure.hint


def test_a_file_that_vanishes_leaves_rows_that_say_so(tmp_path: Path) -> None:
    write_log(path := tmp_path / "r", samples(5))
    index = indexed(path)
    path.unlink()
    index.load([-5, -4])
    row = index.row(-5)
    assert row is not None
    assert "cannot be read" in row.problem
    assert index.matching([-3], wanted("cold")) == []


def test_what_is_kept_in_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "KEPT_ROWS", 20)
    write_log(path := tmp_path / "r", samples(100))
    index = indexed(path)
    for number in index.span:
        index.load([number])
    assert sum(index.row(number) is not None for number in index.span) == 20


FILTERS = [
    "cold",
    "!cold",
    "failed",
    "ok",
    "tag:reused",
    "tag=reused prompt>3.92k",
    "prompt>=4010 prompt<4020",
    "ttft>8s",
    "ttft<1600ms",
    "cached:none",
    "status=429",
    "rate_limit",
    '"Too many"',
    "failure:rate",
    "tok/s>30",
    "cell:4096/cold/2",
    "run:run",
    "model!=m",
    "ÜBER",
    "latency>.5min",
]


@pytest.mark.parametrize("text", FILTERS)
def test_a_file_and_memory_find_the_same(tmp_path: Path, text: str) -> None:
    records = [
        failed(n) if n % 7 == 0 else sample(n, finish_reason="über" if n == 3 else None, model="m")
        for n in range(40)
    ]
    write_log(path := tmp_path / "r", records)
    index, live = indexed(path), LiveRows()
    live.add(records, "run")
    on_disk = [number + 40 for number in index.matching(index.span, wanted(text))]
    assert on_disk == live.matching(live.span, wanted(text))
    assert on_disk != []


def test_values_of_wrong_types_never_match_and_never_raise(tmp_path: Path) -> None:
    path = tmp_path / "r"
    odd = {
        "prompt_tokens": "many",
        "ttft_s": True,
        "tag": 7,
        "failure": [1],
        "notes": {"a": 1},
        "latency_s": 1e308,
    }
    path.write_text(
        json.dumps(odd) + '\n{"ttft_s":1e999,"prompt_tokens":' + "9" * 5000 + "}\n[]\n3\n" + "[" * 9999 + "\n"
    )
    index = indexed(path)
    for text in ("prompt>0", "ttft>0", "tag:7", "note:a nothing", "cold"):
        assert index.matching(index.span, wanted(text)) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("promt>8k", "did you mean prompt?"),
        ("qwen:8b", "in quotes"),
        ("ttft>", "wants a number such as 1.5, 800ms"),
        ("ttft>x", "wants a number"),
        ("prompt>8s", "8192 or 8k"),
        ("tag>cold", "tag is text"),
        ("tag:", "wants a word"),
        ("state:good", "state is one of ok, failed, running"),
        ("cost>1", "has none"),
    ],
)
def test_complaints(text: str, complaint: str) -> None:
    found, said = parse_filter(f"cold {text}")
    assert complaint in said
    assert found == wanted("cold")


@given(st.text(max_size=60))
def test_any_text_is_a_filter_or_a_complaint(text: str) -> None:
    found, complaint = parse_filter(text)
    assert "\x1b" not in complaint
    if found is not None:
        live = LiveRows()
        live.add((sample(0), failed(1)), "run")
        assert set(live.matching(live.span, found)) <= {0, 1}


def found_by(rows: RequestRows, text: str, numbers: range | None = None) -> list[list[int]]:
    reports: list[list[int]] = []

    def report(found: Sequence[int], *, ended: bool) -> None:
        reports.append(list(found))

    clock = iter(range(10_000))
    search(rows, wanted(text), numbers, report, lambda: False, clock=lambda: float(next(clock)))
    return reports


def test_a_search_reports_newest_first_in_ascending_batches() -> None:
    live = LiveRows()
    live.add(samples(600), "")
    reports = found_by(live, "tag:cold")
    assert len(reports) > 1
    assert [number for batch in reversed(reports) for number in batch] == list(range(0, 600, 2))
    assert found_by(live, "tag:cold", range(10, 14)) == [[10, 12], []]


def test_a_cancelled_search_is_silent() -> None:
    live = LiveRows()
    live.add(samples(600), "")
    reports: list[Sequence[int]] = []

    def report(found: Sequence[int], *, ended: bool) -> None:
        reports.append(found)

    search(live, wanted("cold"), None, report, lambda: True)
    assert reports == []


def test_a_search_waits_for_rows_that_are_still_being_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "CHUNK_BYTES", 3000)
    write_log(path := tmp_path / "r", samples(300))
    index = FileIndex(path)
    index.read_older()
    reading = threading.Thread(target=lambda: [None for _ in iter(index.read_older, False)])
    reading.start()
    reports = found_by(index, "cold")
    reading.join()
    assert sum(map(len, reports)) == 150


def test_a_view_grows_at_both_ends() -> None:
    live = LiveRows()
    live.add(samples(10), "")
    view = RowView(live, filtered=True)
    assert (len(view), view.add([4, 6, 8])) == (0, 0)
    assert view.add([0, 2]) == 2
    assert view.add([9]) == 0
    assert view.add([5]) == 0
    assert [view.number_at(place) for place in range(len(view))] == [0, 2, 4, 5, 6, 8, 9]
    view.drop(5)
    view.drop(7)
    assert (len(view), view.place_of(6), view.place_of(100)) == (6, 3, 6)


def test_the_window_stays_on_its_rows_while_older_ones_come() -> None:
    place = ScrollPlace()
    place.resize(10)
    place.reset(50)
    assert (place.top, place.cursor) == (40, 49)
    place.go(45)
    place.grow(80, 30, 0)
    assert (place.top, place.cursor, place.follow) == (70, 75, False)
    place.grow(85, 0, 5)
    assert (place.top, place.unseen) == (70, 5)
    place.scroll(2)
    assert place.unseen == 3
    place.scroll(100)
    assert (place.top, place.cursor, place.unseen, place.follow) == (75, 84, 0, True)


def test_a_slow_disk_keeps_a_draw_waiting_no_longer_than_its_patience() -> None:
    told, may_go_on = threading.Event(), threading.Event()

    class SlowRows(LiveRows):
        def load(self, numbers: Sequence[int]) -> None:
            may_go_on.wait(10)

    loader = RowLoader(told.set, patience_s=0.001)
    loader.load(SlowRows(), [1])
    assert not told.is_set()
    may_go_on.set()
    assert told.wait(10)
    loader.close()
