"""Running a program that prints a key: no shell, limits on time and output, no key repeated."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kvtop.model.secret import Secret
from kvtop.model.text import clean_text
from kvtop.providers.key_text import looks_like_key

if TYPE_CHECKING:
    from collections.abc import Mapping

TIMEOUT_S: Final = 10.0
_LARGEST_OUTPUT_BYTES: Final = 16 * 1024
_SHORTEST_TELLTALE: Final = 4


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a key command did."""

    output: Secret
    """Its standard output."""
    trouble: str = ""
    """Why its output cannot be used; empty when all is well."""
    message: str = ""
    """What it wrote to its standard error, where that surely holds no key."""


def run_key_command(
    argv: tuple[str, ...], environ: Mapping[str, str], timeout_s: float = TIMEOUT_S
) -> CommandResult:
    """Run a program in a session of its own and return what it printed. Raises nothing: see `trouble`."""
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's own profile names the program, and no shell reads it
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environ),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "not a program"
        return CommandResult(Secret(""), f"cannot be started: {reason.lower()}")
    with process:
        try:
            return _result(process, time.monotonic() + timeout_s, timeout_s)
        finally:
            _end(process)


def _result(process: subprocess.Popen[bytes], deadline: float, timeout_s: float) -> CommandResult:
    output, message, trouble = _collect(process, deadline, timeout_s)
    if not trouble:
        trouble = _exit_trouble(process, deadline, timeout_s)
    secret = Secret(output.decode("utf-8", errors="replace"))
    return CommandResult(secret, trouble, _safe_message(message.decode("utf-8", errors="replace"), secret))


def _collect(process: subprocess.Popen[bytes], deadline: float, timeout_s: float) -> tuple[bytes, bytes, str]:
    """Read both pipes until they end, one is too full, or the time is up."""
    output, message = bytearray(), bytearray()
    trouble = ""
    with selectors.DefaultSelector() as selector:
        for pipe, kept in ((process.stdout, output), (process.stderr, message)):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, kept)
        while selector.get_map() and not trouble:
            ready = selector.select(max(deadline - time.monotonic(), 0))
            trouble = "" if ready else f"did not end within {timeout_s:g} s"
            for key, _ in ready:
                trouble = trouble or _read_piece(selector, key)
    return bytes(output), bytes(message), trouble


def _read_piece(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> str:
    piece = os.read(key.fd, 4096)
    if not piece:
        selector.unregister(key.fileobj)
    kept: bytearray = key.data
    kept += piece
    return "prints far more than a key" if len(kept) > _LARGEST_OUTPUT_BYTES else ""


def _exit_trouble(process: subprocess.Popen[bytes], deadline: float, timeout_s: float) -> str:
    try:
        code = process.wait(max(deadline - time.monotonic(), 0.01))
    except subprocess.TimeoutExpired:
        return f"did not end within {timeout_s:g} s"
    if code < 0:
        return f"was ended by signal {-code}"
    return f"ended with exit code {code}" if code else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the program and its children: it leads a process group of its own."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _safe_message(message: str, secret: Secret) -> str:
    words = secret.reveal().split()
    told = any(len(word) >= _SHORTEST_TELLTALE and word in message for word in words)
    if told or secret.redact(message) != message:
        return ""
    if any(looks_like_key(word.strip("\"'`.,:;()=")) for word in message.replace("=", " ").split()):
        return ""
    return clean_text(message, 200)
