"""All checks that need a real GPU, in about 30 seconds: `PYTHONPATH=. python tests/gpu/run_all.py`.

Needs nvidia-ml-py and psutil, neither pytest nor a framework. Prints one JSON document; the exit code is
1 when a check failed.
"""

from __future__ import annotations

import json
import platform
import sys
import traceback

from tests.gpu.checks import CHECKS, Figures


def main() -> int:
    """Run every check, whatever the others did."""
    results: dict[str, Figures] = {}
    for check in CHECKS:
        try:
            results[check.__name__] = check()
        except Exception:  # noqa: BLE001 - one broken check must not hide the others' figures
            results[check.__name__] = {"ok": False, "error": traceback.format_exc().splitlines()}
    machine = {"python": platform.python_version(), "kernel": platform.release()}
    sys.stdout.write(json.dumps({**machine, "checks": results}) + "\n")
    return 0 if all(result["ok"] for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
