"""`kvtop status`: one reading, and leave."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

from kvtop.cli import arguments as arg
from kvtop.cli import exit_codes
from kvtop.cli.engine_process import require_process
from kvtop.cli.streams import show, show_json
from kvtop.model.failure import KvtopError
from kvtop.model.quantity import UNKNOWN, format_bytes
from kvtop.model.reading import GpuReading, ProcessReading
from kvtop.simulator.process import start_simulator
from kvtop.telemetry.gpu.detect import open_source
from kvtop.telemetry.gpu.none import NoGpu
from kvtop.telemetry.one_reading import Reading, read_once


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `kvtop status`."""
    parser.add_argument(
        "--gpus", type=arg.names, default=(), metavar="0,2", help="only these GPUs, by index or UUID"
    )
    parser.add_argument(
        "--pid", type=arg.at_least_one, help="the engine's process, whose memory is read with its children's"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    arg.add_demo(parser.add_argument_group("simulator"))
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Read once, print, return the exit code: 0 also where there is no GPU, which is said.

    Raises KvtopError for a --pid or a GPU in --gpus that is not there.
    """
    require_process(options.pid)
    if options.demo:
        with start_simulator(options.demo_engine) as simulator:
            source = open_source(simulator.base_url, options.gpus)
            reading = read_once(source, engine_pid=options.pid)
    else:
        source = open_source(gpus=options.gpus)
        reading = read_once(source, engine_pid=options.pid)
    if reading.failure is not None and reading.failure.code == "no_such_gpu":
        raise KvtopError(reading.failure)
    if options.json:
        show_json(_document(reading, source.name if reading.gpus else NoGpu.name))
    else:
        show(_text(reading))
    return exit_codes.DONE


def _document(reading: Reading, source: str) -> dict[str, Any]:
    return {
        "schema": "kvtop.status/1",
        "ts": time.time(),
        "gpu_source": source,
        "gpus": [_gpu_json(gpu) for gpu in reading.gpus],
        "processes": [_process_json(process) for process in reading.processes],
        "host_available_bytes": reading.host_available_bytes,
        "failures": [failure.to_json() for failure in reading.failures],
        "notes": [note.to_json() for note in reading.notes],
    }


def _gpu_json(gpu: GpuReading) -> dict[str, Any]:
    return {
        "ts": gpu.ts,
        "index": gpu.device.index,
        "uuid": gpu.device.uuid,
        "name": gpu.device.name,
        "bus_id": gpu.device.bus_id,
        "parent_uuid": gpu.device.parent_uuid,
        "slice_index": gpu.device.slice_index,
        "mem_used_bytes": gpu.mem_used_bytes,
        "mem_total_bytes": gpu.mem_total_bytes,
        "util_pct": gpu.util_pct,
        "mem_bw_util_pct": gpu.mem_bw_util_pct,
        "power_w": gpu.power_w,
        "temp_c": gpu.temp_c,
        "sm_clock_mhz": gpu.sm_clock_mhz,
        "throttle_reasons": gpu.throttle_reasons,
        "unified": gpu.unified,
        "lost_ts": gpu.lost_ts,
        "faults": dict(gpu.faults),
        "source": gpu.source,
    }


def _process_json(process: ProcessReading) -> dict[str, Any]:
    return {
        "pid": process.pid,
        "name": process.name,
        "kind": process.kind,
        "gpu_uuid": process.uuid,
        "gpu_mem_bytes": process.gpu_mem_bytes,
        "rss_bytes": process.rss_bytes,
        "source": process.source,
    }


def _text(reading: Reading) -> str:
    lines: list[str] = []
    for failure in (*reading.failures, *reading.notes):
        lines.append(failure.text)
        if failure.hint:
            lines.append(f"  {failure.hint}")
    for gpu in reading.gpus:
        lines += _gpu_lines(gpu)
    lines += _process_lines(reading.processes)
    return "\n".join(lines) or "No GPU and no process to read."


def _gpu_lines(gpu: GpuReading) -> list[str]:
    mark = "  SIMULATED" if gpu.source == "simulated" else ""
    total = "unified memory" if gpu.unified else f"of {format_bytes(gpu.mem_total_bytes)}"
    memory = f"{format_bytes(gpu.mem_used_bytes)} {total}"
    load = f"load {_number(gpu.util_pct, '%')}  {_number(gpu.power_w, 'W')}  {_number(gpu.temp_c, '°C')}"
    head = f"GPU {gpu.device.index}  {gpu.device.name}  {memory}  {load}{mark}"
    return [head, *(f"       {field}: {reason}" for field, reason in gpu.faults.items())]


def _process_lines(processes: Sequence[ProcessReading]) -> list[str]:
    return [
        f"pid {process.pid}  {process.kind}  {process.name or UNKNOWN}  "
        f"GPU memory {format_bytes(process.gpu_mem_bytes)}  host memory {format_bytes(process.rss_bytes)}"
        for process in processes
    ]


def _number(value: float | None, unit: str) -> str:
    return UNKNOWN if value is None else f"{value:.0f} {unit}"
