from __future__ import annotations

from typing import Any

from kvtop.cli.narration import HEADER, Narrator
from kvtop.cli.progress_words import ProgressWords
from kvtop.model.event import Event


def event(kind: Any, ts: float = 0.0, **data: Any) -> Event:
    return Event(ts, kind, data)


STARTED = event("started", run="r", model="m", cells=1, plan={"repeats": 3})


def test_one_cell_is_one_cell() -> None:
    assert Narrator().tell(STARTED) == "run r  m  1 cell"
    assert Narrator().tell(event("started", run="r", model="m", cells=2)) == "run r  m  2 cells"


def test_the_header_stands_just_above_the_first_row_of_each_session() -> None:
    narrator = Narrator()
    row = event("request", tag="cold", target_tokens=4096, cell="4096/cold/1")
    told = [narrator.tell(e) for e in (STARTED, event("note", code="x", text="Odd."), row, row, STARTED, row)]
    assert told[1] == "  note: Odd."
    assert [(text or "").startswith(HEADER) for text in told] == [False, False, True, False, False, True]


def test_what_is_read_is_told_as_it_is() -> None:
    text = "engine: pid 1663 python3 (found by port 8000)"
    assert Narrator().tell(event("note", code="engine", text=text)) == f"  {text}"


def test_notes_are_wrapped_at_words_and_paths_after_slashes() -> None:
    words = "word " * 12 + "/a/long/path/of/a/run/folder/that/no/line/of/this/width/can/take/gpu.csv"
    told = Narrator(40).tell(event("note", code="x", text=words)) or ""
    assert max(map(len, told.splitlines())) <= 40
    assert told.splitlines()[0] == "  note: word word word word word word"
    assert all(line.endswith("/") for line in told.splitlines()[2:-1])
    assert "".join(line.strip() for line in told.splitlines()[-2:]).endswith("/gpu.csv")


def test_progress_names_the_cell_the_wait_the_share_and_the_time_left() -> None:
    words = ProgressWords()
    for told in (
        STARTED,
        event("progress", 100.0, done=5, total=12, left_s=120.0),
        event("cell", 100.0, cell="8192/cold/2", tag="cold", target_tokens=8192, prefix="cold", repeat=2),
    ):
        words.take(told)
    assert words.line(112.0) == "8k cold 2/3 · waiting for the answer 12 s · 5/12 · about 2 min left"
    words.take(event("request", 113.0))
    assert words.line(150.0) == "8k cold 2/3 · 5/12 · about 70 s left"
    assert words.line(300.0) == "8k cold 2/3 · 5/12"


def test_progress_before_the_first_cell() -> None:
    words = ProgressWords()
    assert words.line(0.0) == "starting"
    words.take(STARTED)
    words.take(event("note", code="memory", text="memory: GPU 0"))
    assert words.line(0.0) == "looking whether memory stands still · 0/1"
    words.take(event("cell", 5.0, cell="calibrate/0", tag="calibrate", target_tokens=None))
    assert words.line(6.0) == "calibrating · waiting for the answer 1 s · 0/1"
    words.take(event("cell", 7.0, tag="prime", target_tokens=4096, prefix="reused", repeat=1))
    assert words.line(7.0) == "4k reused 1/3 priming · waiting for the answer 0 s · 0/1"


def test_progress_of_odd_events() -> None:
    words = ProgressWords()
    for kind in ("started", "cell", "request", "note", "progress", "finding", "finished"):
        words.take(event(kind, plan=[], cells="x", target_tokens="y", done=None, total=-1, left_s="z"))
    assert words.line(0.0)
