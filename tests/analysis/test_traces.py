from __future__ import annotations

import polars as pl

from kvtop.analysis.tables import gpu_table, process_table
from kvtop.analysis.traces import (
    Trace,
    device_traces,
    engine_gpus,
    engine_trace,
    gpu_memory_is_held,
    others_traces,
)
from kvtop.model.quantity import MIB
from tests.analysis.planted import GPU_HEADER, PROCESS_HEADER


def gpus(*rows: str) -> pl.DataFrame:
    return gpu_table(("\n".join((GPU_HEADER, *rows)) + "\n").encode())


def processes(*rows: str) -> pl.DataFrame:
    return process_table(("\n".join((PROCESS_HEADER, *rows)) + "\n").encode())


def test_a_window_takes_its_ends_with_it() -> None:
    trace = Trace.of([1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0])
    assert list(trace.between(2, 3).bytes) == [20.0, 30.0]
    assert list(trace.between(2, 3).ts) == [2.0, 3.0]
    assert len(trace.between(5, 9)) == len(trace.between(3, 1)) == 0


def test_a_device_is_its_uuid_and_without_one_its_index() -> None:
    table = gpus("1,0,GPU-a,10,,,,,,,,,nvml", "1,1,,20,,,,,,,,,nvml", "2,0,GPU-a,,,,,,,,,,nvml")
    traces = device_traces(table)
    assert {name: list(trace.bytes) for name, trace in traces.items()} == {
        "GPU-a": [10.0 * MIB],
        "gpu 1": [20.0 * MIB],
    }


def test_a_simulated_device_says_so() -> None:
    assert device_traces(gpus("1,0,SIM-0,10,,,,,,,,,simulated"))["SIM-0"].simulated
    assert not device_traces(gpus("1,0,GPU-0,10,,,,,,,,,nvml"))["GPU-0"].simulated


def test_resident_memory_is_summed_over_processes_and_counts_once_each() -> None:
    trace = engine_trace(
        processes(
            "1,41,a,engine,,,100,psutil",
            "1,42,b,engine,GPU-0,7,30,nvml",
            "1,42,b,engine,GPU-1,7,30,nvml",
            "1,43,c,other,,,9999,psutil",
            "2,41,a,engine,,,110,psutil",
        )
    )
    assert trace is not None
    assert list(trace.bytes) == [130.0, 110.0]


def test_an_engine_never_read_has_no_trace() -> None:
    assert engine_trace(processes("1,41,a,engine,GPU-0,5,,nvml", "1,42,b,other,,,5,psutil")) is None


def test_the_engine_is_on_the_gpus_that_list_it() -> None:
    table = processes("1,41,a,engine,GPU-1,5,,nvml", "1,42,b,other,GPU-0,5,,nvml", "1,41,a,engine,,,7,psutil")
    assert engine_gpus(table) == {"GPU-1"}
    assert gpu_memory_is_held(table)
    assert not gpu_memory_is_held(processes("1,41,a,engine,,,7,psutil"))


def test_others_are_counted_where_a_gpu_was_listed_and_nowhere_else() -> None:
    table = processes(
        "1,41,a,engine,GPU-0,5,,nvml",
        "1,42,b,other,GPU-0,300,,nvml",
        "1.1,41,a,engine,,,7,psutil",
        "3,41,a,engine,GPU-0,5,,nvml",
        "3,43,b,unknown,GPU-1,900,,nvml",
    )
    (trace,) = others_traces(table, ["GPU-0"])
    assert list(trace.ts) == [1.0, 3.0]
    assert list(trace.bytes) == [300.0, 0.0]
