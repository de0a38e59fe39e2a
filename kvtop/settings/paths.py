"""The folders of this user (XDG Base Directory Specification 0.8) and the files that kvtop ships."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

_PACKAGE = Path(__file__).resolve().parents[1]

ShippedKind = Literal["profiles", "themes"]


def config_file(environ: Mapping[str, str]) -> Path:
    """Return the settings file, `$XDG_CONFIG_HOME/kvtop/config.toml`; it need not exist."""
    return _config_dir(environ) / "config.toml"


def profiles_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder of the user's own profiles; it need not exist."""
    return _config_dir(environ) / "profiles"


def themes_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder of the user's own themes; it need not exist."""
    return _config_dir(environ) / "themes"


def runs_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder that run folders go to unless a setting says otherwise; it need not exist."""
    return _xdg(environ, "XDG_DATA_HOME", ".local/share") / "runs"


def cache_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder for what can be made again; it need not exist."""
    return _xdg(environ, "XDG_CACHE_HOME", ".cache")


def home_dir(environ: Mapping[str, str]) -> Path:
    """Return `$HOME`, or the account's home where HOME is unset, empty or relative."""
    home = environ.get("HOME", "")
    if Path(home).is_absolute():
        return Path(home)
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return Path("/")


def expand_home(text: str, environ: Mapping[str, str]) -> Path:
    """Return the path that `text` names, with a leading `~` or `~/` replaced by the home folder."""
    if text == "~" or text.startswith("~/"):
        return home_dir(environ) / text[2:]
    return Path(text)


def shipped_dir(kind: ShippedKind, package: Path = _PACKAGE) -> Path:
    """Return the folder of shipped files of that kind: inside the package, or of the checkout around it."""
    inside = package / "shipped" / kind
    checkout = package.parent
    if not inside.is_dir() and (checkout / "pyproject.toml").is_file():
        return checkout / kind
    return inside


def _config_dir(environ: Mapping[str, str]) -> Path:
    return _xdg(environ, "XDG_CONFIG_HOME", ".config")


def _xdg(environ: Mapping[str, str], variable: str, under_home: str) -> Path:
    """Return kvtop's folder below an XDG folder; a relative value is ignored, as the specification says."""
    named = Path(environ.get(variable, ""))
    root = named if named.is_absolute() else home_dir(environ) / under_home
    return root / "kvtop"
