"""Each engine answers one chat request, and the launcher notices what goes wrong."""

from __future__ import annotations

import http.client
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from . import servers
from .servers import EngineError, Launch, RunningServer

if TYPE_CHECKING:
    from collections.abc import Iterator

STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"
HEALTHY = f"""
import http.server, subprocess, sys
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
child = subprocess.Popen([sys.executable, "-c", {STUBBORN!r}], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Health).serve_forever()
"""


def chat(server: RunningServer, max_tokens: int) -> dict[str, Any]:
    """Send one chat request and return the answer."""
    messages = [{"role": "user", "content": "How long is a piece of string?"}]
    body = json.dumps({"model": server.model, "max_tokens": max_tokens, "messages": messages})
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    try:
        connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
    finally:
        connection.close()
    assert response.status == 200, answer
    return answer


def check_answer(server: RunningServer) -> None:
    """Ask for four tokens and expect just them, counted, as printable text."""
    answer = chat(server, max_tokens=4)
    usage, choice = answer["usage"], answer["choices"][0]
    assert usage["completion_tokens"] == 4
    assert 10 < usage["prompt_tokens"] < 40
    assert choice["finish_reason"] == "length"
    assert choice["message"]["content"].isascii()


def metrics(server: RunningServer) -> str:
    """Return the engine's Prometheus page."""
    assert server.metrics_url == f"{server.base_url}/metrics"
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def test_llama_answers(llama_server: RunningServer) -> None:
    check_answer(llama_server)
    assert "llamacpp:" in metrics(llama_server)
    assert llama_server.kv_bytes_per_token == 1024


def test_vllm_answers(vllm_server: RunningServer) -> None:
    check_answer(vllm_server)
    assert "vllm:kv_cache_usage_perc" in metrics(vllm_server)
    assert vllm_server.kv_bytes_per_token == 8192


def test_transformers_fp32_answers(transformers_server_fp32: RunningServer) -> None:
    check_answer(transformers_server_fp32)
    assert transformers_server_fp32.metrics_url is None
    assert transformers_server_fp32.kv_bytes_per_token == 131_072


def test_transformers_bf16_answers(transformers_server_bf16: RunningServer) -> None:
    check_answer(transformers_server_bf16)
    assert transformers_server_bf16.kv_bytes_per_token == 65_536


def python_launch(source: str, ready_within_s: float = 30) -> Launch:
    """Return how to start a stand-in engine."""
    return Launch("stand-in", [sys.executable, "-c", source, "{port}"], "none", 0, ready_within_s, {})


def ended(pidfd: int) -> bool:
    """Wait up to 20 s for a process to end."""
    try:
        return bool(select.select([pidfd], [], [], 20)[0])
    finally:
        os.close(pidfd)


def child_of(log: Path) -> int:
    """Return a pidfd of the stand-in's child, whose pid is the first thing that it says."""
    return os.pidfd_open(int(log.read_text().split()[0]))


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[RunningServer]:
    """A server that is healthy and has a child which does not listen to SIGTERM."""
    server = python_launch(HEALTHY).start(tmp_path / "log")
    yield server
    server.stop()


def test_stop_ends_the_whole_group(stand_in: RunningServer) -> None:
    child = child_of(stand_in.log)
    stand_in.stop()
    assert stand_in.process.returncode == -signal.SIGTERM
    assert ended(child)


def test_stopping_twice_is_harmless(stand_in: RunningServer) -> None:
    stand_in.stop()
    stand_in.stop()


def test_engine_sees_no_proxy_and_no_kvtop_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("KVTOP_PROFILE", "mine")
    monkeypatch.setenv("KEPT", "yes")
    seen = servers.clean_environment()
    assert seen["KEPT"] == "yes"
    assert not {"HTTPS_PROXY", "https_proxy", "KVTOP_PROFILE"} & set(seen)


def test_dead_engine_is_reported_with_its_log(tmp_path: Path) -> None:
    launch = python_launch("import sys; sys.exit('no such model')")
    with pytest.raises(EngineError, match=r"ended with exit code 1 (?s:.)*no such model"):
        launch.start(tmp_path / "log")


def test_silent_engine_is_stopped_at_the_deadline(tmp_path: Path) -> None:
    launch = python_launch("import os, signal; print(os.getpid(), flush=True); signal.pause()", 0.5)
    with pytest.raises(EngineError, match="did not answer within"):
        launch.start(tmp_path / "log")


def test_missing_program_is_reported(tmp_path: Path) -> None:
    launch = Launch("stand-in", [str(tmp_path / "no-such-program")], "none", 0, 30, {})
    with pytest.raises(EngineError, match="no-such-program"):
        launch.start(tmp_path / "log")


def test_engine_and_its_children_die_with_the_parent(tmp_path: Path) -> None:
    log = tmp_path / "log"
    source = f"""
import pathlib, signal
from {servers.__name__} import Launch
launch = Launch("stand-in", {python_launch(HEALTHY).command!r}, "none", 0, 30, {{}})
engine = launch.start(pathlib.Path({str(log)!r}))
print(engine.pid, flush=True)
signal.pause()
"""
    root = Path(servers.__file__).parents[servers.__name__.count(".")]
    with subprocess.Popen(
        [sys.executable, "-c", source], cwd=root, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        engine = os.pidfd_open(int(parent.stdout.readline()))
        child = child_of(log)
        parent.kill()
    assert ended(engine)
    assert ended(child)
