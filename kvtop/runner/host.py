"""What is kept about the machine and the software of a run."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import socket

import kvtop
from kvtop.model.text import clean_text

_DEPENDENCIES = ("httpx", "nvidia-ml-py", "psutil", "polars")


def host_facts() -> dict[str, str | int]:
    """Return name, system and processor count of this host."""
    return {
        "name": clean_text(socket.gethostname(), 80),
        "system": clean_text(platform.platform(), 120),
        "cpus": os.cpu_count() or 0,
    }


def software_versions() -> dict[str, str]:
    """Return the versions of kvtop, Python and what the measurement rests on."""
    versions = {"kvtop": kvtop.__version__, "python": platform.python_version()}
    for name in _DEPENDENCIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
