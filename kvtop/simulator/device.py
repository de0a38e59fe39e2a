"""The simulated GPU: an H200 on which the engine, and nothing else, runs."""

from __future__ import annotations

import math
import os
from random import Random
from typing import Any

from kvtop.model.quantity import MIB
from kvtop.simulator.engine import Engine
from kvtop.simulator.storage import KvStorage
from kvtop.simulator.timing import StepLoad

DEVICE_NAME = "SIMULATED H200 141GB"
PROCESS_NAME = "kvtop-simulator"
DEVICE_BYTES = 143_771 * MIB
"""What the driver reports for an H200."""
DRIVER_BYTES = 505 * MIB
"""Used on an idle device, before any process starts."""
WEIGHT_BYTES = 8_190_735_360 * 2
"""8.19 billion parameters in bf16."""
RUNTIME_BYTES = 1_100 * MIB
"""Context, libraries and workspaces of the engine's process."""
POOL_SHARE = 0.92
"""Share of the device that an engine with a pool takes in all."""

FIXED_BYTES = DRIVER_BYTES + RUNTIME_BYTES + WEIGHT_BYTES
GROWING_LIMIT_BYTES = DEVICE_BYTES - FIXED_BYTES
POOL_LIMIT_BYTES = int(DEVICE_BYTES * POOL_SHARE) - FIXED_BYTES

_IDLE_W, _PREFILL_W, _DECODE_W = 118.0, 655.0, 430.0
_IDLE_C, _C_PER_W = 27.0, 0.055
_WARMING_S = 20.0
_IDLE_MHZ, _BUSY_MHZ = 345, 1980


class SimulatedGpu:
    """Readings that follow the engine's load, with a small seeded jitter on power."""

    def __init__(self, engine: Engine, storage: KvStorage, seed: int = 0) -> None:
        self._engine = engine
        self._storage = storage
        self._random = Random(seed)  # noqa: S311 - jitter that a seed repeats
        self._temp_c = _IDLE_C + _IDLE_W * _C_PER_W
        self._read_s: float | None = None

    @property
    def process_bytes(self) -> int:
        """Device memory of the engine's process."""
        return RUNTIME_BYTES + WEIGHT_BYTES + self._storage.device_bytes

    def reading(self, now_s: float) -> dict[str, Any]:
        """Return the devices as `/sim/gpu` answers them; `now_s` is a monotonic time in seconds."""
        load = self._engine.load
        power_w = _power_w(load) + self._random.uniform(-4, 4)
        process = {"pid": os.getpid(), "name": PROCESS_NAME, "gpu_mem_bytes": self.process_bytes}
        device = {
            "index": 0,
            "uuid": "SIM-0",
            "name": DEVICE_NAME,
            "mem_used_bytes": DRIVER_BYTES + self.process_bytes,
            "mem_total_bytes": DEVICE_BYTES,
            "util_pct": _util_pct(load),
            "mem_bw_util_pct": _bandwidth_pct(load),
            "power_w": round(power_w, 1),
            "temp_c": round(self._follow(power_w, now_s)),
            "sm_clock_mhz": _BUSY_MHZ if load else _IDLE_MHZ,
            "throttle_reasons": 0,
            "processes": [process],
        }
        return {"source": "simulated", "devices": [device]}

    def _follow(self, power_w: float, now_s: float) -> float:
        elapsed_s = 0.0 if self._read_s is None else now_s - self._read_s
        target_c = _IDLE_C + power_w * _C_PER_W
        self._temp_c += (target_c - self._temp_c) * (1 - math.exp(-elapsed_s / _WARMING_S))
        self._read_s = now_s
        return self._temp_c


def _power_w(load: StepLoad | None) -> float:
    if load is None:
        return _IDLE_W
    if load.prefill_tokens:
        return _PREFILL_W
    return _DECODE_W + 3.0 * load.decode_sequences


def _util_pct(load: StepLoad | None) -> float:
    if load is None:
        return 0.0
    return 100.0 if load.prefill_tokens else 97.0


def _bandwidth_pct(load: StepLoad | None) -> float:
    if load is None:
        return 0.0
    return 38.0 if load.prefill_tokens else 81.0
