"""Arguments of the app itself, in a file of their own: help shows them without loading the app."""

from __future__ import annotations

import argparse

from kvtop.cli import arguments as arg
from kvtop.ui.terminal_kind import COLOR_CHOICES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the app alone takes."""
    group = parser.add_argument_group("app (`kvtop` without a command)")
    group.add_argument("--profile", metavar="NAME", help="the provider or engine to show and to scan")
    arg.add_runs_dir(group)
    group.add_argument("--interval", type=arg.duration, metavar="100ms", help="time between GPU readings")
    group.add_argument("--theme", metavar="NAME", help="colours; t in the app shows them all")
    group.add_argument("--color", choices=COLOR_CHOICES, default="auto", help="how many colours to use")
    group.add_argument("--ascii", action="store_true", default=None, help="draw with ASCII characters only")
    group.add_argument("--max-fps", type=arg.at_least_one, metavar="N", help="most screen updates a second")
    group.add_argument(
        "--no-mouse", action="store_false", dest="mouse", default=None, help="leave the mouse alone"
    )
    group.add_argument("--legacy-keys", action="store_true", help="no kitty keyboard protocol")
    group.add_argument(
        "--gpus", type=arg.names, default=(), metavar="0,2", help="only these GPUs, by index or UUID"
    )
