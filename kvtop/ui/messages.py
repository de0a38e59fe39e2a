"""What feeds tell the app. Messages are frozen and carry all that a widget needs.

A message that a newer one of its kind makes worthless is replaced by it while both wait in a queue.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field
from typing import TYPE_CHECKING, Any, dataclass_transform

from textual.message import Message

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kvtop.model.failure import Failure
    from kvtop.model.reading import GpuReading, ProcessReading
    from kvtop.model.record import RequestRecord
    from kvtop.telemetry.sample import SamplerStatus


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
class Told(Message):
    """A frozen message; subclasses are dataclasses by themselves."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(eq=False)(cls)

    def __setattr__(self, name: str, value: object) -> None:
        """Set what Textual keeps in a message, and each field once."""
        if name in vars(self) and name in getattr(self, "__dataclass_fields__", ()):
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super().__setattr__(name, value)


class GpuSnapshot(Told):
    """All GPUs and the processes on them, at one moment."""

    readings: tuple[GpuReading, ...]
    processes: tuple[ProcessReading, ...]
    status: SamplerStatus
    history: Mapping[str, tuple[float | None, ...]]
    """Share of the memory in use by UUID of the GPU, one point a second, newest last, at most 300."""
    base_bytes: Mapping[str, int]
    """Memory in use before the run or since the start of the app, by UUID."""

    def can_replace(self, message: Message) -> bool:
        """Whether `message` is an older reading."""
        return isinstance(message, GpuSnapshot)


class RunOpened(Told):
    """A run is followed from here on."""

    run_id: str
    folder: Path
    plan: Mapping[str, Any]
    simulated: bool
    live: bool
    """Whether its runner is at work now."""


class RequestsArrived(Told):
    """Finished requests of a run, in the order they were written."""

    run_id: str
    records: tuple[RequestRecord, ...]
    replace: bool
    """Whether these are all there are, instead of the next ones."""


class ProgressTold(Told):
    """How far a run is."""

    run_id: str
    done: int
    total: int | None
    left_s: float | None
    """Time left, in seconds, or None where it is not known."""
    spent_tokens: int | None
    cell: str
    """The cell that is being measured, empty between cells."""
    state: str
    """A `RunState`."""
    text: str
    """The runner's last word, empty if it has none."""

    def can_replace(self, message: Message) -> bool:
        """Whether `message` tells an earlier state of the same run."""
        return isinstance(message, ProgressTold) and message.run_id == self.run_id


class FindingsChanged(Told):
    """The analysis of a run as it stands now (`findings.json`)."""

    run_id: str
    document: Mapping[str, Any]

    def can_replace(self, message: Message) -> bool:
        """Whether `message` is an earlier analysis of the same run."""
        return isinstance(message, FindingsChanged) and message.run_id == self.run_id


@dataclass(frozen=True, slots=True)
class EngineView:
    """What is known of the engine. None means not known."""

    name: str | None
    """Kind of engine, e.g. `vLLM`."""
    model: str | None
    base_url: str | None
    path: str
    """`local` or `api`."""
    context_tokens: int | None
    rss_bytes: int | None
    """Resident memory of the engine's processes on this host."""
    answers: bool | None
    """Whether it answered the last time it was asked; None before that."""
    failure: Failure | None


class EngineSeen(Told):
    """What is known of the engine now."""

    view: EngineView

    def can_replace(self, message: Message) -> bool:
        """Whether `message` is an older view."""
        return isinstance(message, EngineSeen)


class FailureShown(Told):
    """Something went wrong that the user should see."""

    failure: Failure


class ProfileSeen(Told):
    """The profile of the settings was read."""

    name: str
    tls_note: str | None
    """What the header says of TLS, or None where it is verified."""


class RunStarted(Told):
    """A run that the user started in the app has begun."""

    run_id: str
    folder: Path
