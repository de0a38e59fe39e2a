"""Length scans with a known truth: memory that grows by so many bytes a token, or does not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from kvtop.analysis.scan import analyse_scan
from kvtop.model.endpoint import Price
from kvtop.model.failure import Failure
from kvtop.model.plan import Prefix, ScanPlan
from kvtop.model.quantity import MIB
from kvtop.model.record import RequestRecord

BYTES_PER_TOKEN = 131_072
LENGTHS = (4096, 8192, 16384, 32768)
BASE_BYTES = 20_000 * MIB
START_TS = 1_700_000_000.0
BASE_WINDOW = (START_TS, START_TS + 2.0)
TTFT_S, DECODE_S, PAUSE_S = 0.5, 1.2, 0.3
ANSWER_TOKENS = 64
GPU_HEADER = (
    "ts,gpu,uuid,mem_used_mib,mem_total_mib,util_pct,mem_bw_util_pct,power_w,temp_c,sm_clock_mhz,"
    "throttle_reasons,late_ms,source"
)
PROCESS_HEADER = "ts,pid,name,kind,uuid,gpu_mem_bytes,rss_bytes,source"

Memory = Callable[[float], float]


@dataclass(frozen=True)
class Case:
    """A run folder's content in memory."""

    plan: ScanPlan
    records: tuple[RequestRecord, ...]
    gpu_csv: bytes = b""
    processes_csv: bytes = b""
    base_windows: tuple[tuple[float, float], ...] = (BASE_WINDOW,)
    path: str = "local"
    price: Price | None = None
    simulated: bool = False
    state: str = "done"
    over_context: dict[int, int | None] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Analyse, and insist on plain JSON."""
        document = analyse_scan(
            self.plan,
            self.records,
            run="r",
            path=self.path,
            gpu_csv=self.gpu_csv,
            processes_csv=self.processes_csv,
            base_windows=self.base_windows,
            price=self.price,
            simulated=self.simulated,
            state=self.state,
            over_context=self.over_context,
        )
        plain: dict[str, Any] = json.loads(json.dumps(document, allow_nan=False))
        assert plain == document
        return plain

    def findings(self) -> dict[str, dict[str, Any]]:
        """The findings by code."""
        found = self.document()["findings"]
        assert len({finding["code"] for finding in found}) == len(found)
        return {finding["code"]: finding for finding in found}

    def change(self, cell: str, **changes: Any) -> Case:
        """The same with other fields in the cells that begin with `cell`."""
        records = tuple(replace(r, **changes) if r.cell.startswith(cell) else r for r in self.records)
        return replace(self, records=records)

    def fail(self, cell: str, code: str, **details: Any) -> Case:
        """The same with cells that failed."""
        failure = Failure(code, "It went wrong.", "Do this.", **details)
        return self.change(cell, failure=failure, ttft_s=None, last_token_s=None, prompt_tokens=None)


def plan(
    lengths: Sequence[int] = LENGTHS, repeats: int = 3, prefix: Prefix = "cold", **more: Any
) -> ScanPlan:
    return ScanPlan(tuple(lengths), repeats, prefix, **more)


def requests(scan: ScanPlan) -> tuple[RequestRecord, ...]:
    """One good request for each cell of the plan, one after another."""
    records, ts = [], BASE_WINDOW[1] + 1
    for number, cell in enumerate(scan.cells(), 1):
        records.append(
            RequestRecord(
                id=f"{number:05d}",
                cell=cell.id,
                tag=cell.prefix,
                ts=ts,
                end_ts=ts + TTFT_S + DECODE_S,
                dialect="openai-chat",
                model="m",
                repeat=cell.repeat,
                prefix=cell.prefix,
                target_tokens=cell.target_tokens,
                prompt_tokens=cell.target_tokens + cell.repeat - 2,
                completion_tokens=ANSWER_TOKENS,
                cached_tokens=0 if cell.prefix == "cold" else (cell.target_tokens - 64) // 16 * 16,
                shared_prefix_tokens=None if cell.prefix == "cold" else cell.target_tokens - 64,
                ttft_s=TTFT_S,
                last_token_s=TTFT_S + DECODE_S,
                latency_s=TTFT_S + DECODE_S,
                decode_tok_s=(ANSWER_TOKENS - 1) / DECODE_S,
                finish_reason="length",
                status=200,
                max_tokens=ANSWER_TOKENS,
            )
        )
        ts += TTFT_S + DECODE_S + PAUSE_S
    return tuple(records)


@dataclass
class Growing:
    """Memory of an engine that holds `per_token` bytes for each token, with a hump while it reads."""

    records: Sequence[RequestRecord]
    per_token: float = BYTES_PER_TOKEN
    keeps: bool = False
    noise_bytes: float = 0.0
    hump_bytes: float = 300 * MIB
    random: Random = field(default_factory=lambda: Random(7))

    def __call__(self, ts: float) -> float:
        held = kept = 0.0
        for record in self.records:
            held = max(held, self._held(record, ts))
            if record.ts <= ts:
                kept = max(kept, self._held(record, min(ts, record.end_ts)))
        grown = max(held, kept) if self.keeps else held
        return BASE_BYTES + grown + self.random.uniform(-1, 1) * self.noise_bytes

    def _held(self, record: RequestRecord, ts: float) -> float:
        if not record.ts <= ts <= record.end_ts:
            return 0.0
        since = ts - record.ts
        prompt = (record.prompt_tokens or 0) * min(since / TTFT_S, 1.0)
        answer = ANSWER_TOKENS * max(since - TTFT_S, 0.0) / DECODE_S
        in_hump = TTFT_S * 0.8 < since < TTFT_S + 0.15 * DECODE_S
        hump = self.hump_bytes if in_hump and not self.keeps else 0.0
        return (prompt + answer) * self.per_token + hump


def flat(_ts: float) -> float:
    """Memory of an engine that took its pool at start."""
    return float(BASE_BYTES)


def ticks(records: Sequence[RequestRecord], interval_s: float = 0.1) -> list[float]:
    """Times of the samples: from before the base until a second after the last request."""
    end = max((r.end_ts for r in records), default=BASE_WINDOW[1]) + 1
    return [START_TS + n * interval_s for n in range(int((end - START_TS) / interval_s))]


def gpu_csv(
    times: Iterable[float],
    *memories: Memory,
    source: str = "nvml",
    late_ms: Callable[[int], float] = lambda _: 0.1,
) -> bytes:
    """`gpu.csv` of one GPU for each memory, GPU-0 on."""
    lines = [GPU_HEADER]
    for number, ts in enumerate(times):
        for gpu, memory in enumerate(memories):
            used = memory(ts) / MIB
            lines.append(
                f"{ts!r},{gpu},GPU-{gpu},{used:.3f},143771,50,10,300,50,1980,0,{late_ms(number)},{source}"
            )
    return ("\n".join(lines) + "\n").encode()


def processes_csv(
    times: Iterable[float],
    *,
    rss: Memory | None = None,
    gpus: Sequence[str] = (),
    others: Memory | None = None,
    source: str = "psutil",
) -> bytes:
    """`processes.csv`: the engine's tree of two processes at each tick, GPU lists each two seconds."""
    lines = [PROCESS_HEADER]
    for number, ts in enumerate(times):
        if rss:
            lines.append(f'{ts!r},41,"api, server",engine,,,{50 * MIB},{source}')
            lines.append(f"{ts!r},42,worker,engine,,,{rss(ts) - 50 * MIB:.0f},{source}")
        if number % 20 == 0:
            for place, uuid in enumerate(gpus):
                listed = ts + 0.001 * place
                lines.append(f"{listed!r},42,worker,engine,{uuid},{BASE_BYTES},,nvml")
                if others:
                    lines.append(f"{listed!r},99,someone,other,{uuid},{others(ts):.0f},,nvml")
    return ("\n".join(lines) + "\n").encode()


def on_cpu(memory: Callable[[Sequence[RequestRecord]], Memory], scan: ScanPlan | None = None) -> Case:
    """A finished scan of an engine on a host without GPU."""
    scan = scan or plan()
    records = requests(scan)
    return Case(scan, records, b"", processes_csv(ticks(records), rss=memory(records)))


def on_gpu(memory: Callable[[Sequence[RequestRecord]], Memory], scan: ScanPlan | None = None) -> Case:
    """A finished scan of an engine on GPU-0 of one GPU."""
    scan = scan or plan()
    records = requests(scan)
    times = ticks(records)
    return Case(scan, records, gpu_csv(times, memory(records)), processes_csv(times, gpus=["GPU-0"]))


def elsewhere(scan: ScanPlan | None = None) -> Case:
    """A finished scan of a model behind an API."""
    scan = scan or plan()
    return Case(scan, requests(scan), path="api")
