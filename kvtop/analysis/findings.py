"""What a length scan has to say: the findings of all families, the gravest first."""

from __future__ import annotations

from kvtop.analysis.cache_findings import cache_findings
from kvtop.analysis.facts import ScanFacts
from kvtop.analysis.length_findings import length_findings
from kvtop.analysis.memory_findings import memory_findings
from kvtop.analysis.request_findings import request_findings
from kvtop.analysis.slope_findings import slope_findings
from kvtop.model.finding import Finding

_GRAVEST_FIRST = ("problem", "warning", "info")


def scan_findings(facts: ScanFacts) -> list[Finding]:
    """Return the findings in order of severity; `simulated` comes before all others."""
    families = (request_findings, length_findings, cache_findings, memory_findings, slope_findings)
    found = [finding for family in families for finding in family(facts)]
    found.sort(key=lambda finding: _GRAVEST_FIRST.index(finding.severity))
    return [_SIMULATED, *found] if facts.simulated else found


_SIMULATED = Finding(
    "simulated",
    "info",
    "Every number here is SIMULATED: it comes from the built-in engine and GPU, not from a model.",
    "Run the scan against a real endpoint to measure one.",
)
