"""Start real engines on loopback, wait until they answer, stop them without a trace.

A started engine is a session of its own and ends with the process that started it.
"""

from __future__ import annotations

import http.client
import os
import select
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
POLL_S = 0.1
STOP_WITHIN_S = 20.0
LOG_TAIL_BYTES = 3000
PROXY_VARIABLES = {"http_proxy", "https_proxy", "all_proxy", "no_proxy"}


class EngineError(RuntimeError):
    """An engine that died or did not answer in time; the text ends with the tail of its log."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """An engine that answers."""

    engine: str
    base_url: str
    model: str
    """The name to send in requests."""
    metrics_url: str | None
    kv_bytes_per_token: int
    """From the model's shape and the size of the cache's elements."""
    log: Path
    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """The process that answers requests; also the id of its process group."""
        return self.process.pid

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        return int(self.base_url.rpartition(":")[2])

    def stop(self) -> None:
        """End the engine and everything it started."""
        stop_group(self.process)


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start one engine."""

    engine: str
    command: list[str]
    """`{port}` stands for the port."""
    model: str
    kv_bytes_per_token: int
    ready_within_s: float
    environment: dict[str, str]
    has_metrics: bool = True

    def start(self, log: Path) -> RunningServer:
        """Start the engine with its output in `log`; return when `/health` says 200.

        Raises `EngineError` where it dies or is not ready in time.
        """
        port = free_port()
        command = [part.replace("{port}", str(port)) for part in self.command]
        process = start_process(command, log, self.environment)
        base_url = f"http://127.0.0.1:{port}"
        metrics_url = f"{base_url}/metrics" if self.has_metrics else None
        server = RunningServer(
            self.engine, base_url, self.model, metrics_url, self.kv_bytes_per_token, log, process
        )
        try:
            wait_until_ready(server, self.ready_within_s)
        except BaseException:
            server.stop()
            raise
        return server


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_process(command: list[str], log: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own that dies with this process."""
    guard = [sys.executable, str(HERE / "die_with_parent.py"), str(os.getpid())]
    with log.open("wb") as output:
        return subprocess.Popen(
            guard + command,
            env=clean_environment() | environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def clean_environment() -> dict[str, str]:
    """Return this process's variables without proxies and kvtop's own."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.lower() not in PROXY_VARIABLES and not name.startswith("KVTOP_")
    }


def wait_until_ready(server: RunningServer, within_s: float) -> None:
    """Poll `/health` until it says 200. Raises `EngineError` with the log's tail."""
    deadline = time.monotonic() + within_s
    while not is_healthy(server.port):
        if has_ended(server.pid, POLL_S):
            server.stop()
            raise engine_error(server, f"ended with exit code {server.process.returncode} before it answered")
        if time.monotonic() > deadline:
            raise engine_error(server, f"did not answer within {within_s:.0f} s")


def has_ended(pid: int, within_s: float) -> bool:
    """Wait for a child to end, without reaping it: until then its process group keeps its number."""
    child = os.pidfd_open(pid)
    try:
        return bool(select.select([child], [], [], within_s)[0])
    finally:
        os.close(child)


def is_healthy(port: int) -> bool:
    """Return whether `/health` says 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def engine_error(server: RunningServer, what: str) -> EngineError:
    """Return the error that says what happened and what the engine wrote last."""
    tail = server.log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")
    return EngineError(f"{server.engine} {what}; the end of its log:\n{tail}")


def stop_group(process: subprocess.Popen[bytes]) -> None:
    """Ask a process group to end, then end what is left of it."""
    if process.returncode is not None:
        return
    os.killpg(process.pid, signal.SIGTERM)
    has_ended(process.pid, STOP_WITHIN_S)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
