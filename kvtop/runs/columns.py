"""Columns of the CSV files of a run folder, in their order."""

from __future__ import annotations

GPU_COLUMNS = (
    "ts",
    "gpu",
    "uuid",
    "mem_used_mib",
    "mem_total_mib",
    "util_pct",
    "mem_bw_util_pct",
    "power_w",
    "temp_c",
    "sm_clock_mhz",
    "throttle_reasons",
    "late_ms",
    "source",
)

PROCESS_COLUMNS = ("ts", "pid", "name", "kind", "uuid", "gpu_mem_bytes", "rss_bytes", "source")

ENGINE_COLUMNS = (
    "ts",
    "engine",
    "rank",
    "kv_used_tokens",
    "kv_capacity_tokens",
    "kv_used_bytes",
    "kv_usage",
    "running",
    "waiting",
    "cache_queries",
    "cache_hits",
    "preemptions",
    "origin",
)

REQUEST_COLUMNS = (
    "ts",
    "end_ts",
    "id",
    "cell",
    "tag",
    "level",
    "setting",
    "repeat",
    "prefix",
    "dialect",
    "model",
    "scheduled_ts",
    "target_tokens",
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "usage_source",
    "connect_s",
    "ttft_s",
    "ttft_answer_s",
    "latency_s",
    "decode_tok_s",
    "e2e_tok_s",
    "finish_reason",
    "status",
    "failure",
    "retry_after_s",
)
