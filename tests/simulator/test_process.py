from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

import kvtop
from kvtop.model.failure import KvtopError
from kvtop.simulator.__main__ import main
from kvtop.simulator.process import SimulatorProcess, start_simulator

ROOT = Path(kvtop.__file__).parents[1]


def test_starts_and_stops_as_often_as_asked() -> None:
    with start_simulator("paged", seed=3) as process:
        assert _runs(process)
        assert process.model == "simulated-8b"
        assert httpx.get(f"{process.base_url}/sim/engine").json()["engine"] == "paged"
        assert (
            httpx.get(f"{process.base_url}/sim/gpu").json()["devices"][0]["processes"][0]["pid"]
            == process.pid
        )
        process.stop()
        assert not _runs(process)
    assert process._process.returncode == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(process.base_url)


def test_ends_silently_while_a_stream_is_open() -> None:
    command = [sys.executable, "-m", "kvtop.simulator", "--time-scale", "20"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        announced = json.loads(process.stdout.readline())
        with _connection(announced["base_url"]) as client:
            body = b'{"messages": [{"role": "user", "content": "hi"}], "stream": true, "ignore_eos": true}'
            head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
            client.sendall(head.encode() + body)
            assert client.recv(100)
            process.stdin.close()
            assert process.wait(10) == 0
        assert process.stderr.read() == b""


def test_the_terminals_signals_do_not_end_it_but_sigterm_does() -> None:
    with start_simulator() as process:
        for ignored in (signal.SIGINT, signal.SIGHUP):
            os.kill(process.pid, ignored)
        assert httpx.get(f"{process.base_url}/health").status_code == 200
        os.kill(process.pid, signal.SIGTERM)
        assert process._process.wait(10) == 0


def test_ends_when_its_parent_is_killed() -> None:
    program = (
        "from kvtop.simulator.process import start_simulator\n"
        "process = start_simulator()\n"
        "print(process.base_url, flush=True)\n"
        "input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        with _connection(parent.stdout.readline().strip()) as client:
            client.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
            parent.kill()
            assert client.recv(4096) == b"", "the simulator outlived its parent"


def test_a_taken_port_is_a_failure_with_its_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(KvtopError) as caught:
        start_simulator(port=taken.getsockname()[1])
    assert caught.value.failure.code == "simulator_failed"
    assert "address already in use" in caught.value.failure.text.lower()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"blocks": 10}, "does not fit"),
        ({"context": 0}, "not between"),
        ({"time_scale": 0}, "not above 0"),
        ({"colour": 1}, "unrecognized arguments: --colour 1"),
    ],
)
def test_wrong_options_are_failures_with_their_reason(options: dict[str, float], reason: str) -> None:
    with pytest.raises(KvtopError) as caught:
        start_simulator("paged", **options)
    assert caught.value.failure.code == "simulator_failed"
    assert reason in caught.value.failure.text
    assert "Traceback" not in caught.value.failure.text


def test_a_missing_interpreter_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(KvtopError, match="did not start"):
        start_simulator()


def test_a_file_of_the_users_directory_does_not_stand_in_for_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('shadowed')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with start_simulator() as process:
        assert process.is_running


def test_the_server_imports_nothing_heavy() -> None:
    program = (
        "import sys, kvtop.simulator.__main__\n"
        "print([m for m in ('httpx', 'psutil', 'pynvml', 'polars', 'textual') if m in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_help_says_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    try:
        with pytest.raises(SystemExit):
            main(["--help"])
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert "--time-scale" in capsys.readouterr().out


def _runs(process: SimulatorProcess) -> bool:
    return process.is_running


def _connection(base_url: str) -> socket.socket:
    url = urlsplit(base_url)
    return socket.create_connection((url.hostname or "", url.port or 0), timeout=10)
