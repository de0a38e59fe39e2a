"""`kvtop config`: what is set, and where each value came from."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kvtop.cli import exit_codes
from kvtop.cli.arguments import sentence
from kvtop.cli.streams import say, say_failure, show, show_json
from kvtop.model.failure import Failure, KvtopError
from kvtop.model.quantity import UNKNOWN, format_tokens
from kvtop.model.text import clean_text
from kvtop.settings.config import Settings, load_settings
from kvtop.settings.paths import config_file


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `kvtop config`."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    summary = "each setting, its value and where it came from"
    show_parser = actions.add_parser("show", help=summary, description=sentence(summary))
    show_parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    show_parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Print the settings and return the exit code; `WRONG_USE` where a file or variable is wrong."""
    path = config_file(os.environ)
    try:
        settings = load_settings(os.environ)
    except KvtopError as error:
        return _refuse(path, error.failure, as_json=options.json)
    if options.json:
        show_json(_head(path) | {"settings": _rows(settings)})
    else:
        show(_text(path, settings))
    return exit_codes.DONE


def _refuse(path: Path, failure: Failure, *, as_json: bool) -> int:
    if as_json:
        show_json(_head(path) | {"failure": failure.to_json()})
    else:
        say(_place(path))
    say_failure(failure)
    return exit_codes.WRONG_USE


def _head(path: Path) -> dict[str, Any]:
    return {"schema": "kvtop.config.show/1", "file": str(path), "file_exists": os.path.lexists(path)}


def _place(path: Path) -> str:
    return f"file: {clean_text(path)}" + ("" if os.path.lexists(path) else "  (not there yet)")


def setting_values(settings: Settings) -> Mapping[str, Any]:
    """Return each setting as JSON has it, by its name in the file: times in seconds, lengths in tokens."""
    return {
        "profile": settings.profile,
        "runs.dir": str(settings.runs.dir),
        "sampling.interval": settings.sampling.interval_s,
        "requests.timeout": settings.requests.timeout_s,
        "requests.max_tokens": settings.requests.max_tokens,
        "requests.temperature": settings.requests.temperature,
        "scan.lengths": list(settings.scan.lengths),
        "scan.repeats": settings.scan.repeats,
        "scan.prefix": settings.scan.prefix,
        "ui.theme": settings.ui.theme,
        "ui.ascii": settings.ui.ascii,
        "ui.mouse": settings.ui.mouse,
        "ui.max_fps": settings.ui.max_fps,
        **{f"keys.{action}": keys for action, keys in settings.keys.items()},
    }


def _rows(settings: Settings) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": value, "origin": settings.origin_of(key)}
        for key, value in setting_values(settings).items()
    ]


def _text(path: Path, settings: Settings) -> str:
    rows = [
        (row["key"], clean_text(_written(row["key"], row["value"])), clean_text(row["origin"]))
        for row in _rows(settings)
    ]
    key_width = max(len(key) for key, _, _ in rows)
    value_width = max(len(value) for _, value, _ in rows)
    lines = [f"{key:<{key_width}}  {value:<{value_width}}  {origin}" for key, value, origin in rows]
    return "\n".join([_place(path), "", *lines])


def _written(key: str, value: Any) -> str:
    """Return a value as a person writes it in the file; a dash where there is none."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(format_tokens(count).replace(",", "") for count in value)
    if key in ("sampling.interval", "requests.timeout"):
        return f"{value * 1000:g}ms" if value < 1 else f"{value:g}s"
    return str(value)
