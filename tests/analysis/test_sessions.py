"""A run in two sessions: what the second counts from when its engine is another process, and when not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import pytest

from kvtop.analysis.bases import base_of, read_bases
from kvtop.analysis.traces import EngineSeen, Trace
from kvtop.model.quantity import MIB
from kvtop.model.record import RequestRecord
from tests.analysis.planted import (
    BASE_BYTES,
    BASE_WINDOW,
    BYTES_PER_TOKEN,
    PROCESS_HEADER,
    Case,
    Growing,
    Memory,
    gpu_csv,
    plan,
    processes_csv,
    requests,
    ticks,
)

PAUSE_S = 60.0
FIRST_PID, SECOND_PID = 41, 77


def two_sessions(*, late: int = 6) -> tuple[tuple[RequestRecord, ...], tuple[tuple[float, float], ...]]:
    """The requests of a scan whose last `late` were sent a minute later, and the base of each session."""
    sent = requests(plan())
    records = (
        *sent[:-late],
        *(replace(r, ts=r.ts + PAUSE_S, end_ts=r.end_ts + PAUSE_S) for r in sent[-late:]),
    )
    again = records[-late].ts
    return records, (BASE_WINDOW, (again - 4, again - 2))


def rss_csv(times: Sequence[float], memory: Memory, pid_at: Callable[[float], int]) -> bytes:
    rows = [f"{ts!r},{pid_at(ts)},server,engine,,,{memory(ts):.0f},psutil" for ts in times]
    return ("\n".join([PROCESS_HEADER, *rows]) + "\n").encode()


def resumed(*, restarted: bool, second_base_bytes: float, keeps: bool = False) -> Case:
    """A scan resumed on a host without GPU, where the engine holds another base in the second session."""
    records, windows = two_sessions()
    border = windows[1][0] - 1
    first = Growing([r for r in records if r.ts < border], keeps=keeps)
    second = Growing([r for r in records if r.ts >= border or not restarted], keeps=keeps)

    def memory(ts: float) -> float:
        return first(ts) if ts < border else second(ts) + second_base_bytes - BASE_BYTES

    def pid_at(ts: float) -> int:
        return SECOND_PID if restarted and ts >= border else FIRST_PID

    table = rss_csv(ticks(records), memory, pid_at)
    return Case(plan(), records, b"", table, base_windows=windows)


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("second_base_bytes", [BASE_BYTES + 3000 * MIB, BASE_BYTES - 900 * MIB])
def test_a_restarted_engine_counts_from_its_own_base(second_base_bytes: float, *, keeps: bool) -> None:
    case = resumed(restarted=True, second_base_bytes=second_base_bytes, keeps=keeps)
    document = case.document()
    assert document["kv_slope"]["bytes_per_token"] == pytest.approx(BYTES_PER_TOKEN, rel=0.01)
    assert document["kv_slope"]["n"] == 12
    for point in document["points"]:
        expected = (point["target_tokens"] + 40) * BYTES_PER_TOKEN
        assert point["mem_delta_bytes"] == pytest.approx(expected, rel=0.01)
    bases = document["memory"]["bases"]
    assert [base["engine_pids"] for base in bases] == [[FIRST_PID], [SECOND_PID]]
    assert [base["engine_life"] for base in bases] == [0, 1]
    assert document["memory"]["base_bytes"] == second_base_bytes
    finding = case.findings()["engine_restarted"]
    assert finding["severity"] == "info"
    assert "pid 41 → 77, idle memory" in finding["text"]


def test_an_engine_that_ran_on_is_not_called_restarted() -> None:
    case = resumed(restarted=False, second_base_bytes=BASE_BYTES)
    assert case.document()["kv_slope"]["bytes_per_token"] == pytest.approx(BYTES_PER_TOKEN, rel=0.01)
    assert "engine_restarted" not in case.findings()
    assert len(case.document()["memory"]["bases"]) == 2


def test_what_an_allocator_kept_is_not_the_base_of_the_next_session() -> None:
    """The second session's base holds the memory of the first: the one before the first request counts."""
    case = resumed(restarted=False, second_base_bytes=BASE_BYTES, keeps=True)
    document = case.document()
    assert document["memory"]["bases"][1]["base_bytes"] > BASE_BYTES + 500 * MIB
    assert document["memory"]["base_bytes"] == BASE_BYTES
    assert document["kv_slope"]["bytes_per_token"] == pytest.approx(BYTES_PER_TOKEN, rel=0.01)
    assert "allocator_keeps" in case.findings()


def test_an_engine_restarted_under_the_scan_has_no_base_and_no_memory() -> None:
    """Another process answers the second half, and nobody looked at it while it was idle."""
    case = replace(
        resumed(restarted=True, second_base_bytes=BASE_BYTES + 3000 * MIB), base_windows=(BASE_WINDOW,)
    )
    document = case.document()
    assert document["kv_slope"]["bytes_per_token"] == pytest.approx(BYTES_PER_TOKEN, rel=0.01)
    assert [point["mem_n"] for point in document["points"]] == [3, 3, 0, 0]
    assert document["points"][3]["mem_delta_bytes"] is None
    finding = case.findings()["base_missing"]
    assert finding["text"].startswith("6 of 12 requests have no base")
    assert len(finding["evidence"]["cells"]) == 6


def test_device_memory_that_fell_far_below_the_base_tells_of_a_restart_without_pids() -> None:
    records, windows = two_sessions()
    border = windows[1][0] - 1
    first, second = (
        Growing([r for r in records if (r.ts < border) is early], keeps=True) for early in (True, False)
    )
    lower = 2000 * MIB
    times = ticks(records)
    table = gpu_csv(times, lambda ts: first(ts) if ts < border else second(ts) - lower)
    case = Case(plan(), records, table, base_windows=windows)
    assert case.document()["kv_slope"]["bytes_per_token"] == pytest.approx(BYTES_PER_TOKEN, rel=0.01)
    finding = case.findings()["engine_restarted"]
    assert finding["severity"] == "warning"
    assert "or gave memory back" in finding["text"]


def test_a_longer_request_of_the_engine_before_shadows_nothing() -> None:
    """The short lengths come last, after a restart: what the first process kept is gone."""
    scan = plan()
    sent = requests(scan)
    late = tuple(replace(r, ts=r.ts + 100, end_ts=r.end_ts + 100) for r in sent[:3])
    records = (*sent[3:], *late)
    windows = (BASE_WINDOW, (late[0].ts - 3, late[0].ts - 1))
    border = windows[1][0] - 1
    early, again = Growing(sent[3:], keeps=True), Growing(late, keeps=True)
    table = rss_csv(
        ticks(records),
        lambda ts: early(ts) if ts < border else again(ts),
        lambda ts: FIRST_PID if ts < border else SECOND_PID,
    )
    case = Case(scan, records, b"", table, base_windows=windows)
    assert case.document()["kv_slope"]["n"] == 12
    assert "shadowed_by_longer" not in case.findings()


def test_engine_processes_on_a_gpu_are_listed_rarely_and_still_known() -> None:
    """A listing each 2 s: decodes of 1.2 s without one of their own belong to the nearest."""
    records, windows = two_sessions()
    border = windows[1][0] - 1
    growing = Growing(records)
    times = ticks(records)

    def memory(ts: float) -> float:
        return growing(ts) + (3000 * MIB if ts >= border else 0)

    listed = processes_csv(times, gpus=["GPU-0"]).decode().splitlines()
    moved = [
        line.replace(",42,worker", ",77,worker")
        if line[:2] == "17" and float(line.split(",")[0]) >= border
        else line
        for line in listed
    ]
    table = ("\n".join(moved) + "\n").encode()
    case = Case(plan(), records, gpu_csv(times, memory), table, base_windows=windows)
    assert case.document()["kv_slope"]["bytes_per_token"] == pytest.approx(BYTES_PER_TOKEN, rel=0.01)
    assert case.document()["kv_slope"]["n"] == 12


class TestBases:
    level = Trace.of([float(n) for n in range(100)], [1000.0 * MIB] * 100)
    seen = EngineSeen()

    def test_a_window_without_samples_is_no_base(self) -> None:
        assert read_bases([self.level], self.seen, [(200.0, 201.0), (5.0, 3.0), (5.2, 5.4)]) == ()

    def test_bases_come_in_time_order(self) -> None:
        bases = read_bases([self.level], self.seen, [(50.0, 52.0), (1.0, 3.0)])
        assert [base.window[0] for base in bases] == [1.0, 50.0]
        assert [base.life for base in bases] == [0, 0]

    def test_the_newest_that_ended_before_the_request_is_taken(self) -> None:
        bases = read_bases([self.level], self.seen, [(1.0, 3.0), (50.0, 52.0)])
        pick = partial(base_of, bases, pids=frozenset({7}))
        assert pick(sent_ts=2.0) is None
        assert pick(sent_ts=None) is None
        assert pick(sent_ts=40.0) == bases[0]
        assert pick(sent_ts=52.0) == bases[1]

    def test_a_base_of_another_process_is_passed_over(self) -> None:
        bases = read_bases([self.level], self.seen, [(1.0, 3.0), (50.0, 52.0)])
        known = (replace(bases[0], pids=frozenset({1, 2})), replace(bases[1], pids=frozenset({3})))
        assert base_of(known, 60.0, frozenset({2})) == known[0]
        assert base_of(known, 60.0, frozenset()) is None
