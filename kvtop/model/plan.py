"""What a run is to measure, complete and repeatable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self

Prefix = Literal["cold", "reused", "both"]
RunPath = Literal["local", "api"]
"""Where the truth is: in the memory of an engine on this host, or in the usage of a remote one."""

DEFAULT_LENGTHS = (4096, 16384, 32768, 65536, 131072)
DEFAULT_MAX_TOKENS = 64


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """A length scan: every length, each repeated, with cold or reused prefixes."""

    lengths: tuple[int, ...] = DEFAULT_LENGTHS
    """Wanted prompt tokens, ascending."""
    repeats: int = 3
    prefix: Prefix = "cold"
    max_tokens: int | None = None
    """Answer length in tokens; None lets the scan choose it from the measured decode speed."""
    temperature: float = 0.0
    timeout_s: float = 300.0
    interval_s: float = 0.1
    """Time between memory samples."""
    seed: int = 0
    max_total_tokens: int | None = None
    """Budget of prompt and completion tokens that is never exceeded."""
    keep_bodies: bool = False

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The kinds of measured request per length and repeat, in sending order."""
        return ("cold", "reused") if self.prefix == "both" else (self.prefix,)

    def cells(self) -> tuple[ScanCell, ...]:
        """Return every measured cell in the order of sending: lengths ascend, repeats inside."""
        return tuple(
            ScanCell(length, prefix, repeat)
            for length in self.lengths
            for repeat in range(1, self.repeats + 1)
            for prefix in self.prefixes
        )

    def to_json(self) -> dict[str, Any]:
        """Return the plan as a table for run.toml; None fields left out."""
        table = {key: value for key, value in asdict(self).items() if value is not None}
        return {**table, "lengths": list(self.lengths)}

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> Self:
        """Rebuild a plan from `to_json`; unknown keys are ignored."""
        known = {f.name: table[f.name] for f in fields(cls) if f.name in table}
        if "lengths" in known:
            known["lengths"] = tuple(known["lengths"])
        return cls(**known)


@dataclass(frozen=True, slots=True)
class ScanCell:
    """One measured request of a length scan."""

    target_tokens: int
    prefix: str
    repeat: int

    @property
    def id(self) -> str:
        """The cell's name in the run folder, e.g. `4096/cold/2`."""
        return f"{self.target_tokens}/{self.prefix}/{self.repeat}"
