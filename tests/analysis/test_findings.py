"""Findings on requests, lengths, the cache and the run: each fires, and each keeps silent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kvtop.analysis.cache_findings import hit_block
from kvtop.analysis.cells import failure_code
from kvtop.model.failure import Failure
from kvtop.model.quantity import MIB
from tests.analysis.planted import Growing, elsewhere, gpu_csv, on_cpu, on_gpu, plan, processes_csv, ticks


def test_a_good_scan_behind_an_api_has_nothing_to_complain_of() -> None:
    assert list(elsewhere().findings()) == ["remote_model"]


def test_a_good_scan_of_a_growing_engine_says_its_number_and_nothing_else() -> None:
    assert list(on_gpu(Growing).findings()) == ["kv_slope"]


def test_the_number_can_be_quoted() -> None:
    text = on_gpu(Growing).findings()["kv_slope"]["text"]
    assert "131,072 B/token = 128.0 KiB/token (95 % CI 128.000 – 128.000 KiB), R² 1.0000" in text
    assert "device memory of GPU-0" in text


def test_a_few_requests_have_a_number_without_interval() -> None:
    text = on_gpu(Growing, plan((4096, 8192), 1)).findings()["kv_slope"]["text"]
    assert "too few requests for an interval" in text


def test_requests_off_the_line_are_named() -> None:
    scan = on_gpu(Growing)
    spike = scan.records[5]
    growing = Growing(scan.records)

    def memory(ts: float) -> float:
        return growing(ts) + (3000 * MIB if spike.ts < ts < spike.end_ts else 0)

    finding = replace(scan, gpu_csv=gpu_csv(ticks(scan.records), memory)).findings()["kv_slope"]
    assert finding["evidence"]["outliers"] == [spike.cell]
    assert spike.cell in finding["text"]


def test_the_pool_finding_says_where_to_look() -> None:
    finding = on_gpu(lambda _records: lambda _ts: 98e9).findings()["pool_taken_at_start"]
    assert "took its KV pool at start" in finding["text"]
    assert "not 0 bytes per token" in finding["text"]
    assert "91.3 GiB" in finding["text"]
    assert "/metrics of vLLM" in finding["hint"]


def test_simulated_comes_first() -> None:
    case = replace(elsewhere(), simulated=True).fail("4096", "timeout")
    assert next(iter(case.findings())) == "simulated"


def test_the_gravest_comes_first() -> None:
    case = elsewhere().change("32768", prompt_tokens=2048).change("4096/cold/1", ttft_s=9.0)
    assert [f["severity"] for f in case.findings().values()] == ["problem", "warning", "info"]


def test_requests_failed_counts_by_code() -> None:
    case = elsewhere().fail("4096/cold/1", "timeout").fail("8192", "server_error")
    finding = case.findings()["requests_failed"]
    assert finding["evidence"]["codes"] == {"server_error": 3, "timeout": 1}
    assert finding["text"].startswith("4 requests failed (3 × server_error, 1 × timeout)")
    assert finding["hint"] == "Do this."
    assert "requests_failed" not in elsewhere().findings()


def test_a_failed_calibration_is_told_too() -> None:
    failed = replace(elsewhere().records[0], cell="", tag="calibrate", failure=Failure("auth", "No key."))
    case = replace(elsewhere(), records=(failed,), state="failed")
    assert case.findings()["requests_failed"]["text"].startswith("1 request failed (1 × auth)")
    assert "nothing_measured" in case.findings()


def test_nothing_measured_is_no_news_while_the_run_goes_on() -> None:
    case = replace(elsewhere(), records=())
    assert "nothing_measured" in case.findings()
    assert "nothing_measured" not in replace(case, state="running").findings()
    assert "nothing_measured" not in elsewhere().findings()


def test_a_foreign_failure_code_is_cleaned() -> None:
    record = replace(elsewhere().records[0], failure=Failure("\x1b[31mred", ""))
    assert failure_code(record) == "red"
    assert failure_code(replace(record, failure="text")) == "unknown"  # type: ignore[arg-type] # foreign


def test_usage_missing() -> None:
    case = elsewhere().change("4096", prompt_tokens=None, completion_tokens=None, cached_tokens=None)
    assert case.findings()["usage_missing"]["text"].startswith("3 of 12 answers came without usage")
    assert case.document()["points"][0]["prompt_tokens"] is None
    assert "usage_missing" not in elsewhere().findings()


@pytest.mark.parametrize(
    ("reason", "tokens", "told"), [("stop", 20, True), ("length", 20, False), ("stop", 64, False)]
)
def test_answer_ended_early(reason: str, tokens: int, told: bool) -> None:
    case = elsewhere().change("", finish_reason=reason, completion_tokens=tokens)
    assert ("answer_ended_early" in case.findings()) is told


def test_a_few_early_answers_are_no_finding() -> None:
    case = elsewhere().change("4096", finish_reason="stop", completion_tokens=3)
    assert "answer_ended_early" not in case.findings()


def test_budget_reached() -> None:
    case = elsewhere(plan(max_total_tokens=60_000, max_tokens=64))
    case = replace(case, records=case.records[:8], state="cancelled")
    finding = case.findings()["budget_reached"]
    assert "budget of 60,000 tokens" in finding["text"]
    assert "4 of 12 requests were not sent" in finding["text"]
    assert "budget_reached" not in replace(case, state="running").findings()
    wide = replace(case, plan=replace(case.plan, max_total_tokens=10**9))
    assert "budget_reached" not in wide.findings()
    complete = elsewhere(plan(max_total_tokens=10, max_tokens=64))
    assert "budget_reached" not in complete.findings()


def test_lengths_over_the_context_are_not_the_budgets_doing() -> None:
    case = elsewhere(plan(max_total_tokens=250_000)).fail("32768/cold/1", "context_length")
    case = replace(case, records=case.records[:10])
    assert "budget_reached" not in case.findings()


def test_few_repeats() -> None:
    assert "few_repeats" in elsewhere(plan(repeats=2)).findings()
    assert "few_repeats" not in elsewhere().findings()
    growing = replace(elsewhere(), records=elsewhere().records[:4])
    assert "few_repeats" in growing.findings()
    assert "few_repeats" not in replace(growing, state="running").findings()


def test_noisy_latency() -> None:
    case = elsewhere().change("8192/cold/2", ttft_s=0.8)
    assert "8,192 cold: 500 ms – 800 ms" in case.findings()["noisy_latency"]["text"]
    assert "noisy_latency" not in elsewhere().change("8192/cold/2", ttft_s=0.7).findings()
    quick = elsewhere().change("", ttft_s=0.005).change("8192/cold/2", ttft_s=0.01)
    assert "noisy_latency" not in quick.findings()


def test_sampler_late() -> None:
    case = on_gpu(Growing)
    times = ticks(case.records)
    growing = Growing(case.records)
    late = replace(case, gpu_csv=gpu_csv(times, growing, late_ms=lambda n: 80.0 if n % 20 == 0 else 1.0))
    assert late.findings()["clock_or_sampler_late"]["evidence"]["p99_s"] == pytest.approx(0.08)
    quick = replace(case, plan=replace(case.plan, interval_s=0.02))
    ten = gpu_csv(times, growing, late_ms=lambda n: 10.0)
    assert "clock_or_sampler_late" in replace(quick, gpu_csv=ten).findings()
    assert "clock_or_sampler_late" not in replace(case, gpu_csv=ten).findings()


def test_short_decode() -> None:
    case = on_cpu(Growing)
    sparse = processes_csv(ticks(case.records, 0.6), rss=Growing(case.records))
    finding = replace(case, processes_csv=sparse).findings()["short_decode"]
    assert "too short for three memory samples at 0.1 s" in finding["text"]
    assert "short_decode" not in case.findings()


def test_length_off_target() -> None:
    case = elsewhere().change("4096", prompt_tokens=4096 + 42).change("8192", prompt_tokens=8192 + 81)
    assert case.findings()["length_off_target"]["evidence"]["prompt_tokens"] == {"4,096 cold": 4138}
    short = elsewhere(plan((512,))).change("512", prompt_tokens=512 + 16)
    assert "length_off_target" not in short.findings()


def test_prompt_truncated() -> None:
    case = elsewhere().change("8192", prompt_tokens=4096).change("32768", prompt_tokens=4096)
    found = case.findings()
    assert found["prompt_truncated"]["evidence"]["prompt_tokens"] == {"8,192 cold": 4096, "32,768 cold": 4096}
    assert "length_off_target" not in found
    assert "prompt_truncated" not in elsewhere().change("8192", prompt_tokens=7900).findings()


@pytest.mark.parametrize(
    ("limit", "words"), [(16384, "whose limit is 16,384 tokens"), (None, "names no limit")]
)
def test_over_context(limit: int | None, words: str) -> None:
    case = elsewhere().fail("32768/cold/1", "context_length", limit_tokens=limit)
    found = case.findings()
    assert "Prompts of 32,768 tokens were refused" in found["over_context"]["text"]
    assert words in found["over_context"]["text"]
    assert "requests_failed" not in found
    assert "over_context" not in elsewhere().fail("32768/cold/1", "timeout").findings()


def test_cold_not_cold() -> None:
    case = elsewhere().change("", cached_tokens=16).change("8192", cached_tokens=2048)
    finding = case.findings()["cold_not_cold"]
    assert finding["text"].startswith("3 of 12 cold requests")
    assert finding["evidence"]["template_tokens"] == 16
    assert "--seed" in finding["hint"]


def test_a_template_in_the_cache_leaves_cold_requests_cold() -> None:
    assert "cold_not_cold" not in elsewhere().change("", cached_tokens=48).findings()
    assert "cold_not_cold" not in elsewhere().change("4096", cached_tokens=64).findings()


def test_a_providers_own_system_prompt_is_recognised() -> None:
    finding = elsewhere().change("", cached_tokens=1792).findings()["cold_not_cold"]
    assert "system prompt that the provider puts before" in finding["hint"]


def test_reused_not_reused() -> None:
    case = elsewhere(plan(prefix="both"))
    assert "reused_not_reused" not in case.findings()
    finding = case.change("8192/reused", cached_tokens=4096).findings()["reused_not_reused"]
    assert finding["text"].startswith("3 of 12 reused requests missed the cache: 50% of the tokens")
    assert finding["evidence"]["hit_block_tokens"] == 64


def test_reused_that_never_hit() -> None:
    case = elsewhere(plan(prefix="both")).change("", cached_tokens=0)
    assert case.findings()["reused_not_reused"]["evidence"]["hit_block_tokens"] is None


def test_a_zero_that_may_mean_nothing_is_not_held_against_the_cache() -> None:
    case = elsewhere(plan(prefix="both")).change("", cached_tokens=0, notes=("zero_is_ambiguous",))
    assert "reused_not_reused" not in case.findings()
    assert "cached_never_reported" in case.findings()


@pytest.mark.parametrize(
    ("counts", "block"),
    [
        ([], None),
        ([0, 0], None),
        ([128, 3968, 0], 128),
        ([3968], 128),
        ([4096, 8192], 1024),
        ([15, 28], 1),
        ([48, 64], 16),
    ],
)
def test_hit_block(counts: list[int], block: int | None) -> None:
    assert hit_block(counts) == block


def test_cached_never_reported() -> None:
    cold = elsewhere().change("", cached_tokens=None)
    assert cold.findings()["cached_never_reported"]["severity"] == "info"
    both = elsewhere(plan(prefix="both")).change("", cached_tokens=None)
    for length in (4096, 8192, 16384, 32768):
        both = both.change(f"{length}/reused", ttft_s=0.05)
    finding = both.findings()["cached_never_reported"]
    assert finding["severity"] == "warning"
    assert "reused prompts took 0.10 of the cold TTFT" in finding["text"]
    assert "cached_never_reported" not in cold.change("4096/cold/1", cached_tokens=0).findings()


def test_noisy_decode() -> None:
    speeds = {"4096/cold/1": 144.0, "4096/cold/2": 518.0, "4096/cold/3": 2179.0}
    case = elsewhere()
    assert "noisy_decode" not in case.findings()
    for cell, speed in speeds.items():
        case = case.change(cell, decode_tok_s=speed, last_token_s=0.6)
    finding = case.findings()["noisy_decode"]
    assert "4,096 cold: 144 – 2,179" in finding["text"]
    assert "ask for longer ones (--max-tokens" in finding["hint"]
    assert "Other load" in case.change("4096", last_token_s=9.0).findings()["noisy_decode"]["hint"]
    assert "noisy_decode" not in elsewhere().change("4096/cold/2", decode_tok_s=60.0).findings()


def test_where_no_length_fits_nobody_is_told_to_resume() -> None:
    case = elsewhere(plan((65536, 131072))).fail("", "context_length", limit_tokens=16384)
    found = case.findings()
    assert "start a new scan" in found["nothing_measured"]["hint"]
    assert "resume the run" not in str(found)
    assert "start a new scan" in found["over_context"]["hint"]
    one = elsewhere(plan((4096, 131072))).fail("4096", "timeout").fail("131072", "context_length")
    assert "resume the run" in one.findings()["nothing_measured"]["hint"]


def test_lengths_left_out_unsent_are_told_and_not_taken_for_missing() -> None:
    case = elsewhere(plan((65536, 131072)))
    unsent = replace(case, records=(), over_context={65536: 16384, 131072: 16384})
    found = unsent.findings()
    text = found["over_context"]["text"]
    assert (
        text == "Prompts of 65,536, 131,072 tokens do not fit the context of 16,384 tokens and were not sent."
    )
    assert "start a new scan" in found["nothing_measured"]["hint"]
    some = case.fail("65536/cold/1", "context_length")
    some = replace(some, records=some.records[:1], over_context={65536: None, 131072: None})
    assert "131,072 tokens were not sent." in some.findings()["over_context"]["text"]
    assert some.findings()["over_context"]["evidence"]["not_sent"] == [131072]


def test_lengths_left_out_unsent_are_not_the_budgets_doing() -> None:
    case = elsewhere(plan((4096, 131072), max_total_tokens=50_000))
    case = replace(case, records=case.records[:3])
    assert "budget_reached" in case.findings()
    assert "budget_reached" not in replace(case, over_context={131072: 65536}).findings()


def test_the_hint_of_a_refused_length_is_not_that_of_another_failure() -> None:
    case = elsewhere().fail("4096/cold/1", "context_length")
    failure = Failure("timeout", "Too slow.", "Wait longer.")
    finding = case.change("8192/cold/1", failure=failure).findings()["requests_failed"]
    assert finding["hint"] == "Wait longer."
