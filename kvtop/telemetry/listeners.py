"""Which process listens on a port, and which of an engine's processes stands for the whole engine."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

import psutil

_LOOPBACK_OR_ANY = frozenset({"127.0.0.1", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1"})  # noqa: S104 - compared only

FORWARDERS = frozenset(
    {
        "caddy", "conmon", "docker-proxy", "envoy", "haproxy", "kubectl", "nginx", "passt", "pasta",
        "rootlessport", "slirp4netns", "socat", "ssh", "sshd", "sshd-session", "tailscaled", "traefik",
    }
)  # fmt: skip
"""Programs that listen for an engine elsewhere."""

LAUNCHERS = frozenset({"text-generation-launcher", "text-generation"})
"""Programs that start an engine's server and its workers side by side."""

_WORKER_TITLES = ("VLLM::", "sglang::")
_FORKED_MARKS = ("multiprocessing.spawn", "multiprocessing.forkserver", "--multiprocessing-fork")


def listening_pids(port: int) -> tuple[int, ...]:
    """Return the processes that listen on TCP `port` of the loopback or of all addresses.

    Processes of other users are not seen without privileges.
    """
    try:
        connections = psutil.net_connections(kind="tcp")
    except (psutil.Error, OSError):
        return ()
    pids = {
        connection.pid
        for connection in connections
        if connection.status == psutil.CONN_LISTEN
        and connection.laddr
        and connection.laddr.port == port
        and connection.laddr.ip in _LOOPBACK_OR_ANY
    }
    return tuple(sorted(pid for pid in pids if pid is not None))


def engine_root(pids: Iterable[int]) -> int | None:
    """Return the process whose tree is the engine, given those that listen; None without an answer.

    That is the listener itself (vLLM's and SGLang's main process, ollama, llama-server), except when
    it is a part of a larger whole: a worker that its parent forked (same command line, a
    multiprocessing child, a `VLLM::` title), or a server beside its workers under a known launcher.
    Then it is the parent, and so on upwards, but never this process or one that started it.
    """
    roots = {_climb(pid) for pid in pids}
    return min((root for root in roots if root is not None), default=None)


def _climb(pid: int) -> int | None:
    with suppress(psutil.Error):
        ours = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
        process = psutil.Process(pid)
        if process.name() in FORWARDERS:
            return None
        return _top(process, ours).pid
    return None


def _top(process: psutil.Process, ours: set[int]) -> psutil.Process:
    parent = process.parent()
    while parent is not None and parent.pid not in ours and _is_part_of(process, parent):
        process, parent = parent, parent.parent()
    return process


def _is_part_of(process: psutil.Process, parent: psutil.Process) -> bool:
    try:
        command, above, launcher = process.cmdline(), parent.cmdline(), parent.name()
    except psutil.Error:
        return False
    line = " ".join(command)
    return (
        launcher in LAUNCHERS
        or (bool(command) and command == above)
        or line.startswith(_WORKER_TITLES)
        or any(mark in line for mark in _FORKED_MARKS)
    )
