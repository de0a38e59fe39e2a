"""What memory is said to tell, and that nothing is shown as KV which is not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from kvtop.model.quantity import MIB
from kvtop.model.record import RequestRecord
from tests.analysis.planted import BASE_BYTES, LENGTHS, Case, Growing, Memory, on_cpu, on_gpu, plan


def at_lengths(rises_mib: dict[int, float], scan_lengths: Sequence[int] = LENGTHS, repeats: int = 3) -> Case:
    """A scan whose memory stands at so many MiB over the base while a length is answered."""

    def memory(records: Sequence[RequestRecord]) -> Memory:
        def at(ts: float) -> float:
            now = next((r.target_tokens or 0 for r in records if r.ts <= ts <= r.end_ts), 0)
            return BASE_BYTES + rises_mib.get(now, 0.0) * MIB

        return at

    return on_cpu(memory, plan(scan_lengths, repeats))


def check_nothing_shown(case: Case) -> None:
    """No increments, no slope, a reason; and what was read is still there."""
    document = case.document()
    assert document["kv_slope"] is None
    assert document["memory"]["reason"]
    for point in document["points"]:
        assert point["mem_delta_bytes"] is point["mem_delta_min_bytes"] is point["mem_origin"] is None
        assert point["mem_n"] == 0
    for point in document["memory"]["points"]:
        assert point["n"] == 3
        assert point["plateau_bytes"] >= BASE_BYTES


def test_still_memory_is_said_to_have_stayed() -> None:
    case = at_lengths({4096: 0.5})
    text = case.findings()["pool_taken_at_start"]["text"]
    assert "did not move it" in text
    assert "took its KV pool at start" in text
    assert case.document()["memory"]["flat"] is True
    check_nothing_shown(case)


def test_a_rise_off_the_tokens_is_said_with_its_ends_and_not_called_still() -> None:
    """25 MiB over 75 MiB were once told as `stayed at 75.1 MiB`."""
    case = at_lengths({4096: 20.0, 8192: 25.2, 16384: 22.0, 32768: 24.0})
    found = case.findings()
    assert "pool_taken_at_start" not in found
    text = found["rise_too_small"]["text"]
    assert "rose by 25.2 MiB (from 19.5 GiB to 19.6 GiB)" in text
    assert "does not follow the tokens" in text
    assert "Most engines take their KV pool at start" in text
    assert "stayed" not in text
    assert case.document()["memory"]["flat"] is None
    assert "rose by 25.2 MiB" in case.document()["memory"]["reason"]
    check_nothing_shown(case)


def test_two_lengths_and_few_mib_are_no_slope_and_no_increment() -> None:
    """llama.cpp took 7.9 and 14.8 MiB where its KV is 1 and 2 MiB."""
    case = at_lengths({1024: 7.9, 2048: 14.8}, (1024, 2048))
    finding = case.findings()["rise_too_small"]
    assert "less than the 64.0 MiB" in finding["text"]
    assert finding["hint"].startswith("Scan at least three lengths")
    check_nothing_shown(case)
    assert [p["over_base_bytes"] / MIB for p in case.document()["memory"]["points"]] == [
        pytest.approx(7.9),
        pytest.approx(14.8),
    ]


def test_memory_that_fell_is_not_called_still() -> None:
    case = at_lengths(dict.fromkeys(LENGTHS, -900.0))
    assert "fell by 900.0 MiB" in case.findings()["rise_too_small"]["text"]
    assert case.document()["kv_slope"] is None


def test_a_workspace_taken_at_the_longer_of_two_lengths_is_no_slope() -> None:
    case = at_lengths({4096: 0.0, 8192: 400.0}, (4096, 8192))
    finding = case.findings()["slope_unclear"]
    assert "misses the base by" in finding["text"]
    check_nothing_shown(case)


def test_two_lengths_on_a_line_from_the_base_are_a_slope() -> None:
    document = on_gpu(Growing, plan((4096, 8192))).document()
    assert document["kv_slope"]["bytes_per_token"] == pytest.approx(131_072, rel=0.01)
    assert [point["mem_n"] for point in document["points"]] == [3, 3]


@pytest.mark.parametrize("lengths", [(4096, 8192), (4096, 8192, 16384)])
def test_a_cache_of_earlier_prompts_is_no_slope_even_with_one_repeat(lengths: tuple[int, ...]) -> None:
    """Each prompt goes to host memory when the next comes, which makes a perfect line on doubling lengths."""
    kept = {length: sum(lengths[:place]) * 131_072 / MIB for place, length in enumerate(lengths)}
    case = at_lengths(kept, lengths, repeats=1)
    assert case.document()["kv_slope"] is None
    assert "slope_unclear" in case.findings()


def test_a_small_line_over_unrepeated_lengths_is_not_trusted() -> None:
    scan = plan((1024, 2048, 4096, 8192), 1)
    assert on_cpu(partial(Growing, per_token=2048.0, hump_bytes=0), scan).document()["kv_slope"] is None


def test_a_point_says_how_many_requests_its_memory_rests_on() -> None:
    case = on_gpu(Growing).change("8192/cold/2", last_token_s=None)
    points = {point["target_tokens"]: point for point in case.document()["points"]}
    assert (points[8192]["n"], points[8192]["mem_n"]) == (3, 2)
    assert points[8192]["mem_delta_min_bytes"] <= points[8192]["mem_delta_bytes"]
    assert points[8192]["mem_delta_bytes"] <= points[8192]["mem_delta_max_bytes"]
