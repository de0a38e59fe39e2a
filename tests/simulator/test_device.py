from __future__ import annotations

from array import array
from typing import Any

from kvtop.simulator.device import DEVICE_BYTES, FIXED_BYTES, GROWING_LIMIT_BYTES, SimulatedGpu
from kvtop.simulator.engine import Engine
from kvtop.simulator.growing import SEGMENT_BYTES, GrowingStorage
from kvtop.simulator.scheduler import Scheduler
from kvtop.simulator.timing import StepLoad

PER_TOKEN = 147_456


def _gpu(seed: int = 0) -> tuple[SimulatedGpu, Engine]:
    storage = GrowingStorage(GROWING_LIMIT_BYTES, PER_TOKEN)
    engine = Engine(Scheduler(storage, 4))
    return SimulatedGpu(engine, storage, seed), engine


def _device(gpu: SimulatedGpu, now_s: float = 0.0) -> dict[str, Any]:
    device: dict[str, Any] = gpu.reading(now_s)["devices"][0]
    return device


def test_says_that_it_is_simulated() -> None:
    gpu, _ = _gpu()
    assert gpu.reading(0.0)["source"] == "simulated"
    assert _device(gpu)["name"].startswith("SIMULATED")


def test_memory_is_fixed_parts_plus_the_engines_kv() -> None:
    gpu, engine = _gpu()
    idle = _device(gpu)
    with engine.answering(array("I", range(1000)), 1):
        step = engine.scheduler.plan()
        busy = _device(gpu)
    assert step is not None
    assert idle["mem_used_bytes"] == FIXED_BYTES
    assert idle["mem_total_bytes"] == DEVICE_BYTES
    assert (
        busy["mem_used_bytes"] - idle["mem_used_bytes"]
        == -(-1000 * PER_TOKEN // SEGMENT_BYTES) * SEGMENT_BYTES
    )
    (process,) = busy["processes"]
    assert 0 < process["gpu_mem_bytes"] < busy["mem_used_bytes"]


def test_load_shows_in_every_field() -> None:
    gpu, engine = _gpu()
    idle = _device(gpu)
    engine.load = StepLoad().with_prefill(0, 8000)
    prefill = _device(gpu)
    engine.load = StepLoad().with_decode(8000)
    decode = _device(gpu)
    assert (idle["util_pct"], idle["mem_bw_util_pct"]) == (0.0, 0.0)
    assert idle["power_w"] < decode["power_w"] < prefill["power_w"]
    assert decode["mem_bw_util_pct"] > prefill["mem_bw_util_pct"]
    assert decode["sm_clock_mhz"] > idle["sm_clock_mhz"]


def test_temperature_follows_power_slowly() -> None:
    gpu, engine = _gpu()
    engine.load = StepLoad().with_prefill(0, 8000)
    temperatures = [_device(gpu, now_s)["temp_c"] for now_s in (0.0, 5.0, 20.0, 200.0)]
    assert temperatures == sorted(temperatures)
    assert temperatures[0] < 40 < temperatures[-1] < 90


def test_the_jitter_is_the_seeds() -> None:
    one, other = _gpu(1)[0], _gpu(1)[0]
    assert [_device(one)["power_w"] for _ in range(5)] == [_device(other)["power_w"] for _ in range(5)]
