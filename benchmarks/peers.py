"""kvtop beside nvitop and vllmstat, one after the other in the same run, on the same eight fake GPUs.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install nvitop vllmstat
    python -m benchmarks.peers --bin /tmp/peers/bin [--seconds 20]

Each at 120x40 with the environment of an SSH session: kvtop samples at 100 ms, nvitop reads each second,
vllmstat (a Textual app) draws the engine that it makes up itself. Figures as in `app_live`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.app_live import KVTOP, size, watch
from benchmarks.fake_driver import build, user
from benchmarks.figures import tell


def version(program: Path) -> str:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return (said.stdout or said.stderr).strip().splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bin", type=Path, required=True, help="where nvitop and vllmstat are")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--size", type=size, default=(120, 40))
    options = parser.parse_args()
    nvitop, vllmstat = options.bin / "nvitop", options.bin / "vllmstat"
    programs = {
        "kvtop, sampling at 100 ms": ([*KVTOP], b"quit"),
        f"{version(nvitop)} --interval 1": ([str(nvitop), "--monitor", "--interval", "1"], b"NVITOP"),
        f"{version(vllmstat)} --mock": ([str(vllmstat), "--mock"], b"KV"),
    }
    with tempfile.TemporaryDirectory() as name:
        environ = {**user(Path(name)), **build(Path(name) / "driver").environ}
        cases = {
            program: watch(command, environ, options.seconds, options.size, first)
            for program, (command, first) in programs.items()
        }
    tell(f"peers, Python {sys.version_info.major}.{sys.version_info.minor}", {}, cases)


if __name__ == "__main__":
    main()
