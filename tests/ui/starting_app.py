"""Stands for the app: starts a short scan of the simulator, says where it is, and lives until it is killed.

`python -m tests.ui.starting_app RUNS_ROOT`
"""

from __future__ import annotations

import sys
from pathlib import Path

from kvtop.ui.run_process import ScanRequest, start_scan

REQUEST = ScanRequest(lengths=(256,), repeats=2, prefix="cold", max_tokens=16, demo="growing")

if __name__ == "__main__":
    run = start_scan(REQUEST, Path(sys.argv[1]))
    print(run.pid, run.folder.path, flush=True)  # noqa: T201 - how a child answers
    sys.stdin.readline()
