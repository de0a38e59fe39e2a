"""`python -m kvtop.simulator`: serve until standard input closes or SIGTERM comes."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from dataclasses import fields
from threading import Thread
from typing import Any

from kvtop.simulator.options import ENGINE_KINDS, MODEL_ID, SimulatorOptions
from kvtop.simulator.server import HOST, SimulatorServer

_STDIN = 0


def main(arguments: list[str] | None = None) -> int:
    """Run the simulator. Prints one JSON line when it listens; exit code 1 with one line when it cannot."""
    # A terminal's Ctrl-C reaches the whole process group; the runner may still need its answers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    options = _options(arguments)
    try:
        asyncio.run(_serve(options))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"kvtop.simulator: {error}\n")
        return 1
    return 0


async def _serve(options: SimulatorOptions) -> None:
    server = SimulatorServer(options)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, server.stop.set)
    Thread(target=_watch_stdin, args=(loop, server.stop), daemon=True).start()
    await server.serve(lambda port: _announce(options, port))


def _watch_stdin(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    while os.read(_STDIN, 4096):
        pass
    loop.call_soon_threadsafe(stop.set)


def _announce(options: SimulatorOptions, port: int) -> None:
    line = {
        "base_url": f"http://{HOST}:{port}",
        "pid": os.getpid(),
        "model": MODEL_ID,
        "engine": options.engine,
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _options(arguments: list[str] | None) -> SimulatorOptions:
    parser = argparse.ArgumentParser(prog="kvtop.simulator", allow_abbrev=False)
    parser.add_argument("--engine", choices=ENGINE_KINDS)
    parser.add_argument("--port", type=_whole(0, 65535))
    parser.add_argument("--seed", type=int)
    parser.add_argument("--context", type=_whole(1, 2**31), help="prompt plus answer, in tokens")
    parser.add_argument("--max-seqs", type=_whole(1, 4096), help="requests that run at once")
    parser.add_argument("--blocks", type=_whole(2, 2**24), help="blocks of the paged pool")
    parser.add_argument("--time-scale", type=_positive, help="simulated seconds in a real one")
    given = vars(parser.parse_args(arguments))
    return SimulatorOptions(
        **{f.name: given[f.name] for f in fields(SimulatorOptions) if given[f.name] is not None}
    )


def _whole(least: int, most: int) -> Any:
    def whole_number(text: str) -> int:
        number = int(text)
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{number} is not between {least} and {most}")
        return number

    return whole_number


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


if __name__ == "__main__":
    sys.exit(main())
