"""Entry point of the `kvtop` command and of `python -m kvtop`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and return its exit code."""
    from kvtop.cli.main import run_command_line

    return run_command_line(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
