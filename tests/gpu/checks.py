"""What only a real GPU can show. Each check returns figures, and `ok`."""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

from kvtop.model.quantity import MIB
from kvtop.telemetry.gpu.bindings import load_bindings
from kvtop.telemetry.gpu.detect import open_source
from kvtop.telemetry.gpu.nvidia_smi import NvidiaSmiSource
from kvtop.telemetry.gpu.nvml_calls import NvmlCalls
from kvtop.telemetry.gpu.source import AGE, MEMORY, DeviceLost, FieldMissing
from kvtop.telemetry.one_reading import read_once
from kvtop.telemetry.processes import sees_host_pids
from kvtop.telemetry.sampler import Sample, Sampler
from tests.gpu.cuda import Cuda

Figures = dict[str, Any]

ALLOCATION_BYTES = 1024 * MIB
REPEATS = 200
SLOW_REPEATS = 20


def everything_is_read() -> Figures:
    """One reading has every field of every GPU, or says why not."""
    reading = read_once(open_source(), timeout_s=20.0)
    gpus = [
        {
            "name": gpu.device.name,
            "bus_id": gpu.device.bus_id,
            "mig": gpu.device.mig,
            "unified": gpu.unified,
            "used_bytes": gpu.mem_used_bytes,
            "total_bytes": gpu.mem_total_bytes,
            "util_pct": gpu.util_pct,
            "power_w": gpu.power_w,
            "temp_c": gpu.temp_c,
            "sm_clock_mhz": gpu.sm_clock_mhz,
            "throttle_reasons": gpu.throttle_reasons,
            "faults": dict(gpu.faults),
        }
        for gpu in reading.gpus
    ]
    told = all(gpu["used_bytes"] is not None or gpu["faults"] for gpu in gpus)
    failures = [failure.to_json() for failure in reading.failures]
    return {"ok": bool(gpus) and told and not failures, "gpus": gpus, "failures": failures}


def version_2_leaves_out_what_is_reserved() -> Figures:
    """Reserved, used and free of the v2 memory struct add up to the total."""
    nvml = load_bindings()
    nvml.nvmlInit()
    try:
        memory = nvml.nvmlDeviceGetMemoryInfo(nvml.nvmlDeviceGetHandleByIndex(0), nvml.nvmlMemory_v2)
        parts = {name: int(getattr(memory, name)) for name in ("total", "reserved", "used", "free")}
        driver = str(nvml.nvmlSystemGetDriverVersion())
    finally:
        nvml.nvmlShutdown()
    return {
        "ok": parts["reserved"] + parts["used"] + parts["free"] == parts["total"],
        "driver": driver,
        **parts,
    }


def calls_cost() -> Figures:
    """The two calls of the fast path take less than a millisecond each."""
    calls = NvmlCalls(load_bindings())
    calls.start()
    handle = calls.handle_by_index(0)
    try:
        fast: dict[str, Callable[[Any], object]] = {
            "memory": calls.memory,
            "utilization": calls.utilization,
            "power": calls.power,
            "temperature": calls.temperature,
            "sm_clock": calls.sm_clock,
            "throttle": calls.throttle,
            "mig_mode": calls.is_mig,
        }
        slow: dict[str, Callable[[Any], object]] = {
            "compute_processes": calls.compute_processes,
            "graphics_processes": calls.graphics_processes,
        }
        costs = {name: _cost_us(ask, handle, REPEATS) for name, ask in fast.items()}
        costs |= {name: _cost_us(ask, handle, SLOW_REPEATS) for name, ask in slow.items()}
    finally:
        calls.stop()
    known = [costs[name] for name in ("memory", "utilization") if costs[name] is not None]
    return {"ok": all(cost["p50"] < 1000 for cost in known if cost), "us": costs}


def _cost_us(ask: Callable[[Any], object], handle: Any, repeats: int) -> Figures | None:
    taken = []
    for _ in range(repeats):
        begin = time.perf_counter()
        try:
            ask(handle)
        except (FieldMissing, DeviceLost):
            return None
        taken.append((time.perf_counter() - begin) * 1e6)
    return {"p50": round(statistics.median(taken), 1), "max": round(max(taken), 1)}


def allocation_is_seen() -> Figures:
    """A plain allocation of 1 GiB shows as used memory within a second, and this process in the list."""
    cuda = Cuda()
    source = open_source(gpus=[cuda.uuid])
    [device] = source.open()
    try:
        base = source.read(device, MEMORY)["mem_used_bytes"]
        begin = time.perf_counter()
        with cuda.allocated(ALLOCATION_BYTES):
            allocated_s = time.perf_counter() - begin
            grown, seen_s = base, None
            while time.perf_counter() - begin < 2.0 and seen_s is None:
                grown = source.read(device, MEMORY)["mem_used_bytes"]
                seen_s = time.perf_counter() - begin if grown - base >= ALLOCATION_BYTES else None
            listed = source.processes(device)
        after = source.read(device, MEMORY)["mem_used_bytes"]
    finally:
        source.close()
    mine = [process.gpu_mem_bytes for process in listed if process.pid == os.getpid()]
    return {
        "ok": seen_s is not None and seen_s < 1.0 and (bool(mine) or not sees_host_pids()),
        "allocation_ms": round(allocated_s * 1000, 3),
        "seen_after_ms": None if seen_s is None else round(seen_s * 1000, 3),
        "grown_bytes": int(grown - base),
        "left_bytes": int(after - base),
        "own_process_bytes": mine,
        "listed": len(listed),
        "host_pids": sees_host_pids(),
    }


def sampler_keeps_its_pace() -> Figures:
    """Ten seconds at 50 ms; the budget is a p99 of 2 ms on a quiet machine."""
    samples: list[Sample] = []
    sampler = Sampler(open_source(), samples.append, interval_s=0.05)
    cpu_s = time.process_time()
    sampler.start()
    ready = sampler.wait_ready(20.0)
    threading.Event().wait(10.0)
    cpu_s = time.process_time() - cpu_s
    status = sampler.status()
    stopped = sampler.stop(2.0)
    late = status.lateness
    milliseconds = {
        name: None if value is None else round(value * 1000, 3)
        for name, value in (
            ("p50", late.p50_s),
            ("p95", late.p95_s),
            ("p99", late.p99_s),
            ("max", late.max_s),
        )
    }
    return {
        "ok": ready and stopped and late.p99_s is not None and late.p99_s <= 0.002,
        "late_ms": milliseconds,
        "ticks": late.n,
        "missed": status.missed,
        "cpu_pct": round(cpu_s * 10, 2),
    }


def nvidia_smi_agrees() -> Figures:
    """The fallback tells the same GPUs and memory as NVML, with rows that are young."""
    nvml = {gpu.device.uuid: gpu for gpu in read_once(open_source(), timeout_s=20.0).gpus}
    source = NvidiaSmiSource()
    begin = time.monotonic()
    devices = source.open()
    opened_s = time.monotonic() - begin
    ages: list[float] = []
    used: dict[str, float] = {}
    faults: dict[str, str] = {}
    try:
        while time.monotonic() - begin < opened_s + 8.0:
            for device in devices:
                try:
                    values = source.read(device, MEMORY)
                except FieldMissing as missing:
                    faults[device.uuid] = missing.reason
                    continue
                used[device.uuid] = values["mem_used_bytes"]
                ages.append(values[AGE])
            threading.Event().wait(0.02)
    finally:
        source.close()
    apart = {uuid: int(used[uuid] - (nvml[uuid].mem_used_bytes or 0)) for uuid in used if uuid in nvml}
    ages.sort()
    age_s = {"p50": ages[len(ages) // 2], "max": ages[-1]} if ages else None
    same = {device.uuid for device in devices} == {u for u, gpu in nvml.items() if not gpu.device.parent_uuid}
    return {
        "ok": same and all(abs(difference) <= 64 * MIB for difference in apart.values()),
        "opened_s": round(opened_s, 3),
        "age_s": age_s,
        "apart_bytes": apart,
        "faults": faults,
    }


CHECKS: tuple[Callable[[], Figures], ...] = (
    everything_is_read,
    version_2_leaves_out_what_is_reserved,
    calls_cost,
    allocation_is_seen,
    sampler_keeps_its_pace,
    nvidia_smi_agrees,
)
