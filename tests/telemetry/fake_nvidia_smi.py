"""A `nvidia-smi` that plays lines, for tests: see `FakeSmi` in `test_nvidia_smi.py`.

Its folder holds `play.json`: a list of steps, each `{"print": TEXT}` (no newline is added), `{"wait": FIFO}`
(until a byte comes or the other end closes), `{"exit": CODE}` or `{"refuse": FIELD}` (complain of the field
and exit if it is asked for). `{now}` in a text is the present time. At the end it hangs.
`started.jsonl` gets a line a start.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def note_start() -> None:
    start = {"argv": sys.argv[1:], "pid": os.getpid(), "LC_ALL": os.environ.get("LC_ALL")}
    with (FOLDER / "started.jsonl").open("a") as file:
        file.write(json.dumps(start) + "\n")


def play(step: dict[str, Any]) -> None:
    if "print" in step:
        now = datetime.now(UTC).strftime("%Y/%m/%d %H:%M:%S.%f")[:-3]
        sys.stdout.write(step["print"].replace("{now}", now))
        sys.stdout.flush()
    if "wait" in step:
        Path(step["wait"]).read_bytes()
    if "refuse" in step and f"{step['refuse']}," in sys.argv[1]:
        sys.stdout.write(f'Field "{step["refuse"]}" is not a valid field to query.\n\n')
        sys.exit(2)
    if "exit" in step:
        sys.exit(step["exit"])


if __name__ == "__main__":
    note_start()
    for step in json.loads((FOLDER / "play.json").read_text()):
        play(step)
    signal.pause()
