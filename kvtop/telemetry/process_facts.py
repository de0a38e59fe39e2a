"""Whose a process is and what it runs, for a list that people read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import psutil

from kvtop.model.secret import MASK
from kvtop.model.text import clean_text

COMMAND_LIMIT = 300

_SECRET_FLAG = re.compile(
    r"-{1,2}(?:[\w-]*[-_])?(?:api[-_]?keys?|keys?|token|secret|password|passwd)", re.IGNORECASE
)
_SECRET_NAME = re.compile(r"[\w-]*(?:key|token|secret|password|passwd|authorization)", re.IGNORECASE)
_SECRET_VALUE = re.compile(
    r"\b(?:sk|hf|gsk|xai|ghp|key|pk)[-_][\w-]{8,}|(?<=Bearer )\S+|(?<=://)[^/@\s]+(?=@)"
)


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """What this user may know of a process; None where it may not, or where the process has ended."""

    user: str | None = None
    command: str | None = None
    """The command line on one line, with what looks like a key masked."""
    rss_bytes: int | None = None


def process_facts(pid: int) -> ProcessFacts:
    """Return the facts of a process of this host. Raises nothing."""
    try:
        process = psutil.Process(pid)
    except (psutil.Error, ValueError, OverflowError):
        return ProcessFacts()
    user, command, rss_bytes = None, None, None
    with suppress(psutil.Error, KeyError):
        user = clean_text(process.username()) or None
    with suppress(psutil.Error):
        command = masked_command(process.cmdline()) or clean_text(process.name()) or None
    with suppress(psutil.Error):
        rss_bytes = process.memory_info().rss or None
    return ProcessFacts(user, command, rss_bytes)


def masked_command(arguments: Iterable[str]) -> str:
    """Return a command line without the values of flags and variables that hold keys."""
    shown: list[str] = []
    hiding = False
    for argument in arguments:
        if hiding and not argument.startswith("-"):
            shown.append(MASK)
            continue
        hiding = _SECRET_FLAG.fullmatch(argument) is not None
        shown.append(_masked(argument))
    return clean_text(" ".join(shown), COMMAND_LIMIT)


def _masked(argument: str) -> str:
    name, equals, value = argument.partition("=")
    if equals and value and _SECRET_NAME.fullmatch(name):
        return f"{name}={MASK}"
    return _SECRET_VALUE.sub(MASK, argument)
