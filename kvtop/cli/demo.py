"""`kvtop --demo` without a screen: the demo scan as plain text."""

from __future__ import annotations

import os
import secrets
import time

from kvtop.cli.bench import simulated
from kvtop.cli.ending import end_run
from kvtop.cli.run_in_front import run_in_front
from kvtop.cli.scan import assign
from kvtop.cli.streams import say
from kvtop.model.plan import ScanPlan
from kvtop.runs.layout import create_run_folder
from kvtop.settings.config import load_settings

DEMO_LENGTHS = (4096, 16384, 32768, 65536)


def run_demo(engine: str, *, as_json: bool, repeats: int = 3) -> int:
    """Scan the embedded simulator, print the report or its document, and return the exit code."""
    settings = load_settings(os.environ)
    plan = ScanPlan(lengths=DEMO_LENGTHS, repeats=repeats, seed=secrets.randbits(32))
    say(f"A length scan on the embedded simulator ({engine} engine). Every number is SIMULATED.")
    with simulated(engine) as bench:
        folder = create_run_folder(settings.runs.dir, "scan", bench.target.endpoint.model, time.time())
        result = run_in_front(assign(plan, bench), folder)
    code = end_run(result, as_json=as_json)
    say("On your own engine: kvtop scan --base-url http://127.0.0.1:8000")
    return code
