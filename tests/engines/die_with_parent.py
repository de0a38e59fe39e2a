"""Become a command that is ended with the process that started it.

    python die_with_parent.py PARENT_PID COMMAND ARGUMENT…

The command keeps this process's pid. Linux sends it SIGTERM when the parent is gone, however that died.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask for the signal, make sure that the parent still lives, become the command."""
    parent_pid, command = int(sys.argv[1]), sys.argv[2:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent_pid:
        sys.exit("the process that started this one is gone")
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
