"""Scans with a planted memory, through the whole analysis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from kvtop.analysis.memory import Place, find_places
from kvtop.analysis.tables import gpu_table, process_table
from kvtop.model.quantity import GIB, MIB
from kvtop.model.record import RequestRecord
from tests.analysis.planted import (
    BASE_BYTES,
    BASE_WINDOW,
    BYTES_PER_TOKEN,
    LENGTHS,
    Case,
    Growing,
    Memory,
    elsewhere,
    flat,
    gpu_csv,
    on_cpu,
    on_gpu,
    plan,
    processes_csv,
    requests,
    ticks,
)


def pool(_records: Sequence[RequestRecord]) -> Memory:
    return flat


def delta(document: dict[str, Any], target: int) -> float | None:
    (found,) = [p["mem_delta_bytes"] for p in document["points"] if p["target_tokens"] == target]
    return found  # type: ignore[no-any-return] # JSON


@pytest.mark.parametrize(("build", "origin"), [(on_cpu, "process"), (on_gpu, "device")])
def test_a_growing_engine_shows_its_bytes_per_token(build: Any, origin: str) -> None:
    document = build(partial(Growing, noise_bytes=4 * MIB)).document()
    slope = document["kv_slope"]
    assert slope["bytes_per_token"] == pytest.approx(BYTES_PER_TOKEN, rel=0.01)
    assert slope["ci_low"] <= BYTES_PER_TOKEN <= slope["ci_high"]
    assert slope["origin"] == document["memory"]["origin"] == origin
    assert abs(slope["intercept_bytes"]) < 16 * MIB
    assert document["memory"]["base_bytes"] == pytest.approx(BASE_BYTES, abs=4 * MIB)
    assert document["memory"]["flat"] is False
    for point in document["points"]:
        expected = (point["target_tokens"] + 40) * BYTES_PER_TOKEN
        assert point["mem_delta_bytes"] == pytest.approx(expected, rel=0.03)
        assert point["mem_origin"] == origin


@pytest.mark.parametrize("build", [on_cpu, on_gpu])
def test_a_pool_taken_at_start_is_never_0_bytes_per_token(build: Any) -> None:
    document = build(pool).document()
    assert document["kv_slope"] is None
    assert document["memory"]["flat"] is True
    assert "taken at start" in document["memory"]["reason"]
    assert all(p["mem_delta_bytes"] is p["mem_origin"] is None for p in document["points"])


def test_a_workspace_taken_at_the_first_long_prompt_is_no_slope() -> None:
    def memory(records: Sequence[RequestRecord]) -> Memory:
        first_long = next(r.ts for r in records if r.target_tokens == LENGTHS[1])
        return lambda ts: BASE_BYTES + (300 * MIB if ts > first_long else 0)

    document = on_gpu(memory).document()
    assert document["kv_slope"] is None
    assert [f["code"] for f in document["findings"]] == ["slope_unclear"]


def test_an_allocator_that_keeps_is_recognised_and_read_from_the_first_base() -> None:
    case = on_gpu(partial(Growing, keeps=True))
    assert case.document()["kv_slope"]["bytes_per_token"] == pytest.approx(BYTES_PER_TOKEN, rel=0.01)
    assert "allocator_keeps" in case.findings()
    assert "allocator_keeps" not in on_gpu(Growing).findings()


def test_what_a_longer_request_left_taken_is_not_the_shorter_ones() -> None:
    """A resumed scan measures a failed short cell last, on memory kept from the long ones."""
    scan = plan()
    first, *rest = requests(scan)
    late = replace(first, ts=rest[-1].end_ts + 0.3, end_ts=rest[-1].end_ts + 2.0)
    records = (*rest, late)
    times = ticks(records)
    memory = gpu_csv(times, Growing(records, keeps=True))
    case = Case(scan, records, memory, processes_csv(times, gpus=["GPU-0"]))
    assert case.document()["kv_slope"]["bytes_per_token"] == pytest.approx(BYTES_PER_TOKEN, rel=0.01)
    assert case.document()["kv_slope"]["outliers"] == []
    assert case.findings()["shadowed_by_longer"]["evidence"]["cells"] == [first.cell]


def test_memory_that_grows_at_one_length_gives_no_slope() -> None:
    def memory(records: Sequence[RequestRecord]) -> Memory:
        return lambda ts: BASE_BYTES + sum(r.target_tokens or 0 for r in records if r.end_ts < ts) * 8192

    document = on_cpu(memory).document()
    assert document["kv_slope"] is None
    assert "memory_drifts" in [f["code"] for f in document["findings"]]
    assert all(p["mem_delta_bytes"] is None for p in document["points"])


def test_a_small_rise_that_follows_the_tokens_is_a_slope() -> None:
    case = on_cpu(partial(Growing, per_token=2048.0, hump_bytes=0), plan((1024, 2048, 4096, 8192)))
    assert case.document()["kv_slope"]["bytes_per_token"] == pytest.approx(2048, rel=0.02)


def test_a_small_rise_over_two_lengths_cannot_be_told() -> None:
    case = on_cpu(partial(Growing, per_token=8192.0, hump_bytes=0), plan((1024, 2048)))
    assert case.document()["memory"]["flat"] is None
    assert "rise_too_small" in case.findings()
    assert "pool_taken_at_start" not in case.findings()


def test_a_rise_lost_in_noise_is_neither_flat_nor_a_slope() -> None:
    case = on_gpu(partial(Growing, per_token=1000.0, noise_bytes=400 * MIB))
    document = case.document()
    assert document["memory"]["flat"] is None
    assert document["kv_slope"] is None
    assert document["memory"]["noise_bytes"] > 400 * MIB
    assert "memory_noisy" in case.findings()


def test_one_length_grew_but_has_no_slope() -> None:
    case = on_gpu(Growing, plan((8192,)))
    assert case.document()["kv_slope"] is None
    assert delta(case.document(), 8192) == pytest.approx(8232 * BYTES_PER_TOKEN, rel=0.01)
    assert "slope_needs_lengths" in case.findings()
    assert "slope_needs_lengths" not in replace(case, state="running").findings()


def test_others_on_the_gpu_void_the_requests_they_moved_in() -> None:
    scan = plan()
    records = requests(scan)
    times = ticks(records)
    from_ts = records[10].ts
    growing = Growing(records)

    def neighbour(ts: float) -> float:
        return 9 * GIB if ts >= from_ts else 2 * GIB

    case = Case(
        scan,
        records,
        gpu_csv(times, lambda ts: growing(ts) + neighbour(ts)),
        processes_csv(times, gpus=["GPU-0"], others=neighbour),
    )
    slope = case.document()["kv_slope"]
    assert slope["bytes_per_token"] == pytest.approx(BYTES_PER_TOKEN, rel=0.01)
    assert slope["n"] < 12
    assert set(case.findings()["others_moved"]["evidence"]["cells"]) >= {records[10].cell, records[11].cell}


def test_samples_missing_in_some_requests_leave_the_others() -> None:
    case = on_gpu(Growing)
    records = requests(case.plan)
    gap = records[3].ts, records[4].end_ts
    times = [ts for ts in ticks(records) if not gap[0] < ts < gap[1]]
    case = replace(case, gpu_csv=gpu_csv(times, Growing(records)))
    assert case.document()["kv_slope"]["n"] == 10
    assert case.findings()["short_decode"]["evidence"]["cells"] == [records[3].cell, records[4].cell]


def test_a_base_window_without_samples_falls_back_to_the_time_before_the_first_request() -> None:
    case = on_gpu(Growing)
    unusable = (1.0, 2.0), (float("nan"), 2.0), (BASE_WINDOW[1], BASE_WINDOW[0])
    for windows in ((), *((window,) for window in unusable), unusable):
        assert replace(case, base_windows=windows).document()["memory"]["base_bytes"] == BASE_BYTES


def test_without_idle_samples_there_is_no_base_and_no_number() -> None:
    case = on_gpu(Growing)
    times = [ts for ts in ticks(case.records) if ts > case.records[0].ts]
    case = replace(case, gpu_csv=gpu_csv(times, Growing(case.records)))
    document = case.document()
    assert document["memory"]["base_bytes"] is document["kv_slope"] is document["memory"]["flat"] is None
    assert document["memory"]["reason"] == "no idle samples of this engine process before the request"
    assert "base_missing" in case.findings()


def test_a_model_elsewhere_has_no_memory_here() -> None:
    local = on_gpu(Growing)
    case = replace(local, path="api")
    assert case.document()["memory"] is case.document()["kv_slope"] is None
    assert "remote_model" in case.findings()
    assert "remote_model" not in local.findings()


def test_nothing_was_watched() -> None:
    case = replace(elsewhere(), path="local")
    assert case.document()["memory"] is None
    assert "memory_not_watched" in case.findings()
    assert "memory_not_watched" not in on_cpu(pool).findings()


def test_two_gpus_of_one_engine_are_summed_and_a_third_is_left_out() -> None:
    scan = plan()
    records = requests(scan)
    times = ticks(records)
    half = partial(Growing, records, BYTES_PER_TOKEN / 2)

    def stranger(ts: float) -> float:
        return 5 * GIB + ts % 7 * GIB

    case = Case(
        scan, records, gpu_csv(times, half(), stranger, half()), processes_csv(times, gpus=["GPU-0", "GPU-2"])
    )
    assert case.document()["kv_slope"]["bytes_per_token"] == pytest.approx(BYTES_PER_TOKEN, rel=0.01)
    assert case.document()["memory"]["base_bytes"] == 2 * BASE_BYTES


def test_simulated_memory_says_so_wherever_it_is_said() -> None:
    scan = plan()
    records = requests(scan)
    times = ticks(records)
    by_source = Case(scan, records, gpu_csv(times, Growing(records), source="simulated"))
    by_flag = replace(on_gpu(Growing), simulated=True)
    for case in (by_source, by_flag):
        assert case.document()["kv_slope"]["origin"] == "simulated"
        assert "SIMULATED" in case.findings()["kv_slope"]["text"]


def places(gpu: bytes, processes: bytes) -> tuple[Place, ...]:
    return find_places(gpu_table(gpu), process_table(processes), simulated=False)


class TestFindPlaces:
    times = ticks(())

    def origins(self, gpu: bytes, processes: bytes) -> list[str]:
        return [place.origin for place in places(gpu, processes)]

    def test_nothing(self) -> None:
        assert self.origins(b"", b"") == []

    def test_a_host_without_gpu(self) -> None:
        assert self.origins(b"", processes_csv(self.times, rss=flat)) == ["process"]

    def test_an_engine_seen_on_its_gpu(self) -> None:
        seen = processes_csv(self.times, rss=flat, gpus=["GPU-1"])
        (place,) = places(gpu_csv(self.times, flat, flat), seen)
        assert (place.origin, place.name, len(place.traces)) == ("device", "device memory of GPU-1", 1)

    def test_no_process_known(self) -> None:
        (place,) = places(gpu_csv(self.times, flat, flat), b"")
        assert place.name == "device memory of 2 GPUs"

    def test_an_engine_on_the_cpu_of_a_host_with_an_empty_gpu(self) -> None:
        assert self.origins(gpu_csv(self.times, flat), processes_csv(self.times, rss=flat)) == ["process"]

    def test_an_engine_that_a_container_hides_may_be_on_a_gpu_or_not(self) -> None:
        seen = processes_csv(self.times, rss=flat, gpus=["GPU-0"]).replace(
            b"42,worker,engine,GPU-0", b"7,,unknown,GPU-0"
        )
        assert self.origins(gpu_csv(self.times, flat), seen) == ["device", "process"]


def test_a_cpu_engine_beside_a_busy_gpu_is_found_by_its_growth() -> None:
    case = on_cpu(Growing)
    times = ticks(case.records)
    listed = processes_csv(times, gpus=["GPU-0"]).replace(b"42,worker,engine", b"7,game,other")
    merged = case.processes_csv + listed.partition(b"\n")[2]
    document = replace(case, gpu_csv=gpu_csv(times, flat), processes_csv=merged).document()
    assert document["kv_slope"]["origin"] == "process"
    assert document["kv_slope"]["bytes_per_token"] == pytest.approx(BYTES_PER_TOKEN, rel=0.01)
