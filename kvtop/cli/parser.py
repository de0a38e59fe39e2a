"""argparse in kvtop's own words."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from kvtop.cli import exit_codes
from kvtop.cli.streams import print_on, say
from kvtop.model.text import clean_text


class Parser(argparse.ArgumentParser):
    """Fails with one line, a hint and kvtop's exit code; names the nearest flag for an unknown one."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse, and refuse here what is left over, so that the hint names this command's help."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(_unknown(unknown, self._option_string_actions))
        return options, unknown

    def error(self, message: str) -> NoReturn:
        """Print the message, where the help is, and leave with `WRONG_USE`."""
        say(f"kvtop: {clean_text(message)}")
        say(f"  Try '{self.prog} --help'.")
        raise SystemExit(exit_codes.WRONG_USE)

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:
            print_on(file, message)


def _unknown(words: Sequence[str], flags: Iterable[str]) -> str:
    text = f"unrecognized arguments: {' '.join(words)}"
    wrong = next((word.partition("=")[0] for word in words if word.startswith("--")), None)
    close = difflib.get_close_matches(wrong, list(flags), n=1) if wrong else []
    return f"{text}; did you mean {close[0]}?" if close else text
