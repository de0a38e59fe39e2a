"""The command line: which command, and what its failures look like."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence

import kvtop
from kvtop.cli import exit_codes
from kvtop.cli.arguments import sentence
from kvtop.cli.exit_codes import EndpointError
from kvtop.cli.parser import Parser
from kvtop.cli.streams import (
    finish_streams,
    is_tty,
    keep_descriptors_open,
    say,
    say_failure,
    say_warning,
    use_ascii,
)
from kvtop.model.failure import Failure, KvtopError
from kvtop.settings.charset import speaks_utf8
from kvtop.settings.config import load_settings, settings_without_file
from kvtop.settings.variables import unknown_variables

COMMANDS = {
    "status": "one reading of the GPUs and the engine's process, and leave",
    "sample": "the memory sampler alone, into a CSV",
    "scan": "length scan: what a prompt of each length costs in memory, time and tokens",
    "runs": "the archive: list, show, follow, cancel, resume",
    "config": "the settings: each value and where it came from",
}

Execute = Callable[[argparse.Namespace], int]


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. Never raises for wrong input or a stopped run."""
    keep_descriptors_open()
    try:
        return _run(arguments)
    finally:
        finish_streams()


def _run(arguments: Sequence[str]) -> int:
    use_ascii(wanted=_wants_ascii())
    try:
        options = build_parser(arguments).parse_args(arguments)
        for warning in unknown_variables(os.environ):
            say_warning(warning)
        execute: Execute = options.execute
        return execute(options)
    except EndpointError as error:
        say_failure(error.failure)
        return exit_codes.ENDPOINT_UNUSABLE
    except KvtopError as error:
        say_failure(error.failure)
        return exit_codes.WRONG_USE
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else exit_codes.DONE


def _wants_ascii() -> bool:
    """Whether locale, environment or settings file ask for ASCII; a broken file says nothing here."""
    if not speaks_utf8(os.environ):
        return True
    for load in (load_settings, settings_without_file):
        try:
            return load(os.environ).ui.ascii
        except KvtopError:
            continue
    return False


def build_parser(arguments: Sequence[str]) -> Parser:
    """Return the parser. Only the module of the command that is named in `arguments` is imported."""
    parser = Parser(
        prog="kvtop",
        description="What a token of context costs: in memory on your own GPU host, and on the bill.",
        epilog="Without a command kvtop is the app; kvtop --demo shows it on the embedded simulator. "
        "Exit codes: 0 done, 1 measured with failures, 2 wrong use, 3 endpoint refused or unreachable, "
        "130 stopped (data kept).",
    )
    parser.add_argument("--version", action="version", version=f"kvtop {kvtop.__version__}")
    parser.add_argument(
        "--demo", action="store_true", help="the app, or without a terminal a scan, on the embedded simulator"
    )
    _add_demo_engine(parser)
    parser.set_defaults(execute=_no_command)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    named = next((word for word in arguments if word in COMMANDS), None)
    if named is None:
        parser.add_argument("--json", action="store_true", help="with --demo: one JSON document on stdout")
        importlib.import_module("kvtop.cli.app_arguments").add_arguments(parser)
    for name, summary in COMMANDS.items():
        child = subparsers.add_parser(name, help=summary, description=sentence(summary))
        if name == named:
            importlib.import_module(f"kvtop.cli.{name}").configure(child)
    return parser


def _add_demo_engine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--demo-engine",
        choices=("growing", "paged"),
        default="growing",
        help="growing: KV memory follows the context (default); paged: the pool is taken at start",
    )


def _no_command(options: argparse.Namespace) -> int:
    if options.json:
        return _demo_document(options)
    if is_tty(sys.stdout):
        return int(importlib.import_module("kvtop.cli.app").run(options))
    if options.demo:
        demo = importlib.import_module("kvtop.cli.demo")
        return int(demo.run_demo(options.demo_engine, as_json=False))
    say("kvtop measures what a token of context costs. Start with one of:")
    say("  kvtop --demo                                      a scan on the embedded simulator")
    say("  kvtop scan --base-url http://127.0.0.1:8000       a scan on your own engine")
    say("  kvtop status                                      one reading of the GPUs")
    say("All commands: kvtop --help")
    return exit_codes.WRONG_USE


def _demo_document(options: argparse.Namespace) -> int:
    if not options.demo:
        text = "--json alone is no command: give one, as in kvtop status --json, or --demo."
        raise KvtopError(Failure("no_command", text))
    return int(importlib.import_module("kvtop.cli.demo").run_demo(options.demo_engine, as_json=True))
