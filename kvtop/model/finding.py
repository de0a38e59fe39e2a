"""What an analysis has to say about a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["info", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement about a run, with what it rests on and what to do."""

    code: str
    severity: Severity
    text: str
    hint: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the finding as a JSON object; evidence only where there is some."""
        document: dict[str, Any] = {
            "code": self.code,
            "severity": self.severity,
            "text": self.text,
            "hint": self.hint,
        }
        if self.evidence:
            document["evidence"] = dict(self.evidence)
        return document
