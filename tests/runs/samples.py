"""Readings, records and manifests as a run would make them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kvtop.model.event import Event, EventType
from kvtop.model.failure import Failure
from kvtop.model.reading import GpuDevice, GpuReading, ProcessReading
from kvtop.model.record import RequestRecord
from kvtop.runs.manifest import Manifest

TS = 1764600000.25
UUID = "GPU-5a3b7c1e-0000-4000-8000-00000000000a"

GPU = GpuReading(
    TS,
    GpuDevice(0, UUID, "NVIDIA H200"),
    mem_used_bytes=105_500_000_000,
    mem_total_bytes=150_754_820_096,
    util_pct=87.0,
    mem_bw_util_pct=None,
    power_w=612.4,
    temp_c=61.0,
    sm_clock_mhz=1980,
    throttle_reasons=4,
    late_s=0.0012344,
)

PROCESS = ProcessReading(TS, 4242, "llama-server", "engine", rss_bytes=3_221_225_472)

RECORD = RequestRecord(
    id="r1",
    cell="4096/cold/1",
    tag="cold",
    ts=TS,
    end_ts=TS + 1.5,
    dialect="openai-chat",
    model="Qwen/Qwen3-8B",
    repeat=1,
    prefix="cold",
    target_tokens=4096,
    prompt_tokens=4101,
    completion_tokens=64,
    cached_tokens=0,
    usage_source="usage",
    ttft_s=0.25,
    latency_s=1.5,
    finish_reason="length",
    status=200,
    usage_raw={"prompt_tokens": 4101, "prompt_tokens_details": {"cached_tokens": 0}},
    notes=("zero_is_ambiguous",),
)

MANIFEST = Manifest(kind="scan", state="running", created_ts=TS, path="local")


def record(request_id: str, **changes: Any) -> RequestRecord:
    """Return `RECORD` under another id, with `changes`."""
    return replace(RECORD, id=request_id, **changes)


def failed(request_id: str, **changes: Any) -> RequestRecord:
    """Return a record of a request that failed."""
    return record(request_id, failure=Failure("truncated", "The stream ended early."), **changes)


def event(kind: EventType, **data: Any) -> Event:
    """Return an event with a fixed time."""
    return Event(TS, kind, data)
