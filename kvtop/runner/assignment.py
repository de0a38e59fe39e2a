"""What a runner is given to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kvtop.model.endpoint import Endpoint
from kvtop.model.event import RunState
from kvtop.model.failure import Failure
from kvtop.model.plan import RunPath, ScanPlan
from kvtop.runs.layout import RunFolder
from kvtop.telemetry.gpu.source import GpuSource

Analyse = Callable[[RunFolder, RunState], Mapping[str, Any]]
"""Builds the findings document of a run folder from what is on disk."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A length scan on one endpoint, with the telemetry beside it."""

    plan: ScanPlan
    endpoint: Endpoint
    path: RunPath
    """`local` when the engine runs on this host, so that its memory can be read; else `api`."""
    analyse: Analyse
    source: GpuSource | None = None
    """Where GPU readings come from; None when no memory of this host is of interest."""
    engine_pid: int | None = None
    engine_found: str = ""
    """How the engine's process became known, in words: `found by port 8000`."""
    demo: str | None = None
    """Kind of embedded engine, for a run on the simulator."""
    kind: str = "scan"


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended. `document` is what findings.json holds."""

    folder: RunFolder
    state: RunState
    document: Mapping[str, Any]
    failure: Failure | None = None
