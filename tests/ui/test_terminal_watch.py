from __future__ import annotations

import os
import pty
import threading

from kvtop.ui.terminal_watch import TerminalWatch


def test_a_closed_terminal_is_told_and_then_given_up() -> None:
    master, slave = pty.openpty()
    lost, gave_up = threading.Event(), threading.Event()
    watch = TerminalWatch(slave, lost.set, give_up=gave_up.set)
    watch.start()
    assert not watch.is_lost()
    os.close(master)
    assert lost.wait(5)
    assert gave_up.wait(5), "an app that cannot end any more must not go on"
    os.close(slave)


def test_an_app_that_ends_in_time_is_not_given_up() -> None:
    master, slave = pty.openpty()
    gave_up = threading.Event()
    watch = TerminalWatch(slave, lambda: watch.stop(), give_up=gave_up.set)
    watch.start()
    os.close(master)
    watch._thread.join(5)
    assert not watch._thread.is_alive()
    assert not gave_up.is_set()
    os.close(slave)


def test_a_parent_that_dies_counts_unless_there_never_was_one() -> None:
    master, slave = pty.openpty()
    parents = [4711]
    watch = TerminalWatch(slave, lambda: None, parent=lambda: parents[0])
    parents[0] = 1
    assert watch.is_lost()
    orphan = TerminalWatch(slave, lambda: None, parent=lambda: 1)
    assert not orphan.is_lost()
    os.close(master)
    os.close(slave)
