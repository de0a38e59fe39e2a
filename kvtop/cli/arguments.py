"""Arguments that several commands share, with types whose errors are sentences."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import TypeVar

from kvtop.model.endpoint import OPENAI_CHAT
from kvtop.model.quantity import parse_duration, parse_tokens
from kvtop.model.text import clean_text

T = TypeVar("T")

MEASURABLE = (OPENAI_CHAT,)
"""Dialects that a scan can speak."""


def tokens(text: str) -> int:
    """Parse `4k`; for argparse."""
    return _argument(parse_tokens, text)


def duration(text: str) -> float:
    """Parse `100ms`; for argparse."""
    return _argument(parse_duration, text)


def lengths(text: str) -> tuple[int, ...]:
    """Parse `4k,16k,32k` into ascending lengths without repetition; for argparse."""
    parts = [part for part in text.split(",") if part.strip()]
    if not parts:
        raise argparse.ArgumentTypeError("no lengths; write for example 4k,16k,32k")
    return tuple(sorted({tokens(part) for part in parts}))


def at_least_one(text: str) -> int:
    """Parse a count of at least 1; for argparse."""
    return _argument(_positive, text)


def seed(text: str) -> int:
    """Parse a seed, a whole number; for argparse."""
    return _argument(_whole, text)


def not_negative(text: str) -> float:
    """Parse a number of at least 0; for argparse."""
    return _argument(_number, text)


def names(text: str) -> tuple[str, ...]:
    """Split a list of names at commas; for argparse."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def sentence(summary: str) -> str:
    """Return a command's summary as a sentence: a capital first, a full stop last."""
    return f"{summary[:1].upper()}{summary[1:]}."


def add_endpoint(parser: argparse.ArgumentParser) -> None:
    """Add what says where requests go."""
    group = parser.add_argument_group("endpoint")
    group.add_argument("--profile", metavar="NAME", help="a profile of yours or a shipped one")
    group.add_argument("--base-url", metavar="URL", help="instead of a profile, e.g. http://127.0.0.1:8000")
    group.add_argument(
        "--model", metavar="ID", help="model id; may be left out where the server has only one"
    )
    group.add_argument("--key-env", metavar="NAME", help="environment variable that holds the key")
    group.add_argument(
        "--dialect", choices=MEASURABLE, help=f"wire format; {OPENAI_CHAT} is the one that can be measured"
    )
    group.add_argument(
        "--pid", type=at_least_one, help="the engine's process, whose memory is read with its children's"
    )
    add_demo(group)


def add_runs_dir(parser: argparse._ActionsContainer) -> None:
    """Add where run folders are."""
    parser.add_argument(
        "--runs-dir", metavar="DIR", help="where run folders are (default: see kvtop config show)"
    )


def add_demo(group: argparse._ArgumentGroup) -> None:
    """Add the embedded simulator."""
    # Left out, they leave alone what stands before the command: `kvtop --demo scan`.
    group.add_argument(
        "--demo",
        action="store_true",
        default=argparse.SUPPRESS,
        help="measure the embedded simulator; every number is SIMULATED",
    )
    group.add_argument(
        "--demo-engine",
        choices=("growing", "paged"),
        default=argparse.SUPPRESS,
        help="growing: KV memory follows the context (default); paged: the pool is taken at start",
    )


def _argument(parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except OverflowError:
        raise argparse.ArgumentTypeError(f"{clean_text(text, 40)!r} is beyond all bounds") from None
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _positive(text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _whole(text: str) -> int:
    if not text.strip().isdecimal():
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"{text!r} is not a number of at least 0")
    return number
