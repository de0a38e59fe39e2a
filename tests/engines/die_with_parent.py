"""Become a command whose whole process group is ended when the process that started it is gone.

    python die_with_parent.py PARENT_PID COMMAND ARGUMENT…

Must be started as the leader of its own session; the command keeps its pid. A watcher that belongs to
neither side sees the parent's end, however it died, and ends the group. The kernel's parent-death signal
will not do: it reaches one process once, and vLLM swallows a SIGTERM while it starts.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys

ASK_S = 10.0


def main() -> None:
    """Leave a watcher behind and become the command."""
    parent_pid, command = int(sys.argv[1]), sys.argv[2:]
    parent, leader = os.pidfd_open(parent_pid), os.pidfd_open(os.getpid())
    if os.getppid() != parent_pid:
        sys.exit("the process that started this one is gone")
    leave_watcher(parent, leader, group=os.getpid())
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


def leave_watcher(parent: int, leader: int, group: int) -> None:
    """Fork twice, so that the watcher is no child of the command."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork() == 0:
        watch(parent, leader, group)
    os._exit(0)


def watch(parent: int, leader: int, group: int) -> None:
    """End the group when the parent ends first."""
    ended, _, _ = select.select([parent, leader], [], [])
    if leader not in ended:
        end_group(leader, group)


def end_group(leader: int, group: int) -> None:
    """Ask the group to end, and end what is left of it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGTERM)
        select.select([leader], [], [], ASK_S)
        os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
