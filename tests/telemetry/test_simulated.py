"""The simulator's GPUs over a real loopback connection."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from kvtop.model.failure import KvtopError
from kvtop.telemetry.gpu.detect import open_source
from kvtop.telemetry.gpu.simulated import SimulatedSource
from kvtop.telemetry.gpu.source import MEMORY, POWER, DeviceLost, FieldMissing, GpuProcess, GpuUnavailable
from tests.telemetry.manual_clock import sample_for


def gpu(index: int, **fields: Any) -> dict[str, Any]:
    known = {
        "index": index,
        "uuid": f"SIM-{index}",
        "name": "Simulated GPU",
        "mem_used_bytes": 1000 + index,
        "mem_total_bytes": 9000,
        "util_pct": 12.5,
        "mem_bw_util_pct": 3,
        "power_w": 200.0,
        "temp_c": 40,
        "sm_clock_mhz": 1500,
        "throttle_reasons": 0,
        "processes": [{"pid": 1, "name": "engine\x1b[31m", "gpu_mem_bytes": 900}],
    }
    return {**known, **fields}


class Simulator(ThreadingHTTPServer):
    """Answers with `body`; counts requests and connections."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.body = json.dumps({"source": "simulated", "devices": [gpu(0), gpu(1)]}).encode()
        self.status = 200
        self.hang_up = False
        self.requests = 0
        self.connections: set[Any] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Simulator

    def do_GET(self) -> None:
        assert self.path == "/sim/gpu"
        self.server.requests += 1
        self.server.connections.add(self.client_address)
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)
        self.close_connection = self.server.hang_up

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        pass


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_all_fields_arrive(simulator: Simulator) -> None:
    samples, status = sample_for(2, open_source(simulator.url))
    reading = samples[1].gpus[1]
    assert (reading.device.uuid, reading.mem_used_bytes, reading.mem_total_bytes) == ("SIM-1", 1001, 9000)
    assert (reading.util_pct, reading.power_w, reading.sm_clock_mhz, reading.source) == (
        12.5,
        200,
        1500,
        "simulated",
    )
    [process] = samples[0].processes
    assert (process.name, process.gpu_mem_bytes, process.source) == ("engine", 900, "simulated")
    assert status.failures == ()


def test_one_request_a_tick_on_one_connection(simulator: Simulator) -> None:
    sample_for(20, open_source(simulator.url))
    assert simulator.requests == 1 + 20
    assert len(simulator.connections) == 1


def test_connection_that_the_simulator_closed_is_opened_again(simulator: Simulator) -> None:
    simulator.hang_up = True
    samples, _ = sample_for(5, open_source(simulator.url))
    assert [sample.gpus[0].mem_used_bytes for sample in samples] == [1000] * 5


def test_missing_field_is_none_with_a_reason(simulator: Simulator) -> None:
    for odd in (None, "12", True, [1]):
        simulator.body = json.dumps({"devices": [gpu(0, power_w=odd, processes=None)]}).encode()
        source = SimulatedSource(simulator.url)
        [device] = source.open()
        with pytest.raises(FieldMissing):
            source.read(device, POWER)
        with pytest.raises(FieldMissing):
            source.processes(device)
        assert source.read(device, MEMORY) == {"mem_used_bytes": 1000, "mem_total_bytes": 9000}
        source.close()


def test_process_without_size_or_name(simulator: Simulator) -> None:
    simulator.body = json.dumps({"devices": [gpu(0, processes=[{"pid": 7}])]}).encode()
    source = SimulatedSource(simulator.url)
    [device] = source.open()
    assert source.processes(device) == (GpuProcess(7, None, None),)
    source.close()


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"devices": 3}', b'{"devices": []}', b"<html>", b"\xff"]
)
def test_answer_that_is_no_gpu_list(simulator: Simulator, body: bytes) -> None:
    simulator.body = body
    source = SimulatedSource(simulator.url)
    with pytest.raises(GpuUnavailable) as raised:
        source.open()
    assert raised.value.failure.code == "simulator_unreachable"
    source.close()


def test_gpu_is_lost_while_the_simulator_fails_and_comes_back(simulator: Simulator) -> None:
    source = SimulatedSource(simulator.url)
    device, _ = source.open()
    simulator.status = 500
    source.refresh()
    with pytest.raises(DeviceLost, match="500"):
        source.read(device, MEMORY)
    with pytest.raises(DeviceLost):
        source.recover(device)
    simulator.status = 200
    source.refresh()
    assert source.recover(device) == device
    assert source.read(device, MEMORY)["mem_used_bytes"] == 1000
    source.close()


def test_simulator_that_is_not_there() -> None:
    source = SimulatedSource("http://127.0.0.1:1")
    with pytest.raises(GpuUnavailable) as raised:
        source.open()
    assert raised.value.failure.code == "simulator_unreachable"


@pytest.mark.parametrize(
    "url", ["http://example.org:80", "http://127.0.0.1", "nonsense", "http://127.0.0.1:x", "http://["]
)
def test_only_this_machine_is_asked(url: str) -> None:
    with pytest.raises(KvtopError) as raised:
        open_source(url)
    assert raised.value.failure.code == "simulator_address"


def test_gpus_are_chosen(simulator: Simulator) -> None:
    source = open_source(simulator.url, ["1"])
    assert [device.uuid for device in source.open()] == ["SIM-1"]
    source.close()
