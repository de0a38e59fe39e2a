from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtop.model.endpoint import Price
from kvtop.model.failure import Failure
from kvtop.model.plan import ScanPlan
from kvtop.model.record import RequestRecord
from tests.analysis.planted import Case, Growing, elsewhere, on_cpu, on_gpu, plan, requests

POINT_KEYS = {
    "target_tokens", "prefix", "prompt_tokens", "ttft_s", "ttft_min_s", "ttft_max_s", "latency_s",
    "latency_min_s", "latency_max_s", "decode_tok_s", "decode_min_tok_s", "decode_max_tok_s", "e2e_tok_s",
    "cached_tokens", "kv_bytes", "mem_delta_bytes", "mem_delta_min_bytes", "mem_delta_max_bytes",
    "mem_origin", "mem_n", "n", "failed", "failures",
}  # fmt: skip
SLOPE_KEYS = {
    "bytes_per_token", "ci_low", "ci_high", "intercept_bytes", "r2", "origin", "theory_bytes_per_token", "n",
    "residual_bytes", "outliers",
}  # fmt: skip


def test_the_document_has_these_keys() -> None:
    document = on_gpu(Growing).document()
    assert document["schema"] == "kvtop.scan/1"
    assert set(document) == {
        "schema", "run", "path", "state", "simulated", "points", "kv_slope", "memory", "spent", "findings",
    }  # fmt: skip
    assert all(set(point) == POINT_KEYS for point in document["points"])
    assert set(document["kv_slope"]) == SLOPE_KEYS
    memory = document["memory"]
    assert set(memory) == {"origin", "base_bytes", "noise_bytes", "flat", "reason", "bases", "points"}
    assert {key for base in memory["bases"] for key in base} == {
        "from_ts", "to_ts", "base_bytes", "noise_bytes", "engine_pids", "engine_life",
    }  # fmt: skip
    assert {key for point in memory["points"] for key in point} == {
        "target_tokens", "prefix", "plateau_bytes", "over_base_bytes", "n",
    }  # fmt: skip
    assert set(document["spent"]) == {"prompt_tokens", "completion_tokens", "cost", "currency"}


def test_point_values_are_medians_of_measured_requests() -> None:
    case = elsewhere(plan((4096,)))
    case = case.change("4096/cold/1", ttft_s=0.4, cached_tokens=None).change("4096/cold/2", ttft_s=0.7)
    (point,) = case.document()["points"]
    assert (point["ttft_min_s"], point["ttft_s"], point["ttft_max_s"]) == (0.4, 0.5, 0.7)
    assert (point["prompt_tokens"], point["cached_tokens"], point["kv_bytes"]) == (4096, 0, None)
    assert (point["n"], point["failed"], point["failures"]) == (3, 0, [])


def test_failed_requests_are_counted_and_enter_no_median() -> None:
    case = elsewhere(plan((4096,))).change("4096/cold/2", ttft_s=99.0, failure=Failure("truncated", "Cut."))
    (point,) = case.document()["points"]
    assert (point["n"], point["failed"], point["failures"]) == (2, 1, ["truncated"])
    assert point["ttft_max_s"] == 0.5


def test_a_point_of_failures_is_null() -> None:
    (point,) = elsewhere(plan((4096,))).fail("", "timeout").document()["points"]
    assert (point["n"], point["failed"]) == (0, 3)
    assert point["ttft_s"] is point["prompt_tokens"] is point["decode_tok_s"] is None


@pytest.mark.parametrize("scan", [plan(repeats=0), plan(()), plan(repeats=0, prefix="both")])
def test_an_empty_plan_is_no_error(scan: ScanPlan) -> None:
    assert Case(scan, ()).document()["kv_slope"] is None


def test_all_requests_are_paid_for_the_superseded_and_calibrating_ones_too() -> None:
    price = Price("CNY", input=2.0, cached_input=0.2, output=8.0)
    record = replace(
        requests(plan((1000,), 1))[0], prompt_tokens=1000, completion_tokens=100, cached_tokens=400
    )
    calibration = replace(record, cell="", tag="calibrate", cached_tokens=None)
    case = Case(plan((1000,), 1), (calibration, record, record), path="api", price=price)
    spent = case.document()["spent"]
    assert (spent["prompt_tokens"], spent["completion_tokens"], spent["currency"]) == (3000, 300, "CNY")
    assert spent["cost"] == pytest.approx((2800 + 2 * (1200 + 80 + 800)) / 1e6)


def test_without_usage_or_price_nothing_is_said_about_cost() -> None:
    silent = elsewhere().change("", prompt_tokens=None, completion_tokens=None)
    assert silent.document()["spent"] == dict.fromkeys(
        ("prompt_tokens", "completion_tokens", "cost", "currency")
    )
    priced = replace(silent, price=Price("USD", 1.0, None, 2.0)).document()["spent"]
    assert (priced["cost"], priced["currency"]) == (None, "USD")


def test_it_can_be_followed_from_the_first_request_on() -> None:
    whole = on_gpu(Growing)
    for sent in range(len(whole.records) + 1):
        document = replace(whole, records=whole.records[:sent], state="running").document()
        assert sum(point["n"] for point in document["points"]) == sent
        assert not [f for f in document["findings"] if f["severity"] == "problem"]


def test_polars_is_loaded_for_local_memory_alone() -> None:
    code = (
        "import sys; from kvtop.analysis.scan import analyse_scan; from kvtop.model.plan import ScanPlan;"
        "analyse_scan(ScanPlan(), [], run='', path='api', gpu_csv=b'', processes_csv=b'', base_windows=(),"
        "price=None, simulated=False, state='done'); sys.exit('polars' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


maybe_float = st.none() | st.floats()
maybe_count = st.none() | st.integers(-5, 2**70)
records = st.builds(
    RequestRecord,
    id=st.text(max_size=3),
    cell=st.sampled_from(["", "4096/cold/1", "4096/cold/2", "8192/reused/1", "8192/cold/1", "x", "9/9/9"]),
    tag=st.sampled_from(["calibrate", "prime", "cold", "reused", "", "?"]),
    ts=st.floats() | st.floats(1_700_000_000, 1_700_000_030),
    end_ts=st.floats() | st.floats(1_700_000_000, 1_700_000_030),
    dialect=st.just("openai-chat"),
    model=st.just("m"),
    prefix=st.none() | st.sampled_from(["cold", "reused"]),
    target_tokens=maybe_count,
    prompt_tokens=maybe_count,
    completion_tokens=maybe_count,
    cached_tokens=maybe_count,
    shared_prefix_tokens=maybe_count,
    ttft_s=maybe_float,
    last_token_s=maybe_float | st.floats(0, 3),
    latency_s=maybe_float,
    decode_tok_s=maybe_float,
    max_tokens=maybe_count,
    finish_reason=st.none() | st.sampled_from(["stop", "length", ""]),
    failure=st.none()
    | st.builds(Failure, st.text(max_size=3), st.text(max_size=3), limit_tokens=maybe_count),
    notes=st.just(()) | st.just(("zero_is_ambiguous",)),
)
plans = st.builds(
    ScanPlan,
    lengths=st.lists(st.sampled_from([1, 4096, 8192]), max_size=3).map(tuple),
    repeats=st.integers(0, 3),
    prefix=st.sampled_from(["cold", "reused", "both"]),
    max_tokens=st.none() | st.integers(1, 99),
    max_total_tokens=st.none() | st.integers(1, 99999),
)
LOCAL = (on_gpu(Growing, plan((4096, 8192), 2)), on_cpu(Growing, plan((4096, 8192), 2)))


@settings(deadline=None)
@given(
    plans,
    st.lists(records, max_size=6),
    st.sampled_from(LOCAL),
    st.none() | st.tuples(st.floats(), st.floats()),
    st.none() | st.builds(Price, st.just("USD"), maybe_float, maybe_float, maybe_float),
    st.sampled_from(["local", "api", "?"]),
    st.sampled_from(["running", "done", "cancelled"]),
)
def test_no_mix_of_unknown_and_odd_values_raises(
    scan: ScanPlan,
    odd: list[RequestRecord],
    local: Case,
    window: tuple[float, float] | None,
    price: Price | None,
    path: str,
    state: str,
) -> None:
    mixed = (*local.records[:2], *odd, *local.records[2:])
    case = replace(
        local,
        plan=scan,
        records=mixed,
        base_windows=() if window is None else (window,),
        price=price,
        path=path,
        state=state,
        simulated=False,
    )
    document = case.document()
    assert document["schema"] == "kvtop.scan/1"
    assert len({(p["target_tokens"], p["prefix"]) for p in document["points"]}) == len(document["points"])


@settings(deadline=None, max_examples=40)
@given(st.sets(st.sampled_from([f for f in RequestRecord.__slots__ if f not in ("id", "cell", "tag", "ts")])))
def test_any_field_may_be_unknown(missing: set[str]) -> None:
    optional = missing - {"end_ts", "dialect", "model", "usage_raw", "headers", "notes", "failure"}
    case = LOCAL[0].change("", **dict.fromkeys(optional))
    case.document()
