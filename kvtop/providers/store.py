"""The profiles there are: the user's own, then the shipped examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtop.model.failure import Failure, KvtopError
from kvtop.providers.profile_file import read_profile
from kvtop.settings.paths import profiles_dir, shipped_dir
from kvtop.settings.toml_table import shown
from kvtop.settings.toml_text import nearest
from kvtop.settings.values import is_safe_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kvtop.providers.profile import Profile

_SUFFIX = ".toml"


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """One profile as a list shows it."""

    name: str
    path: Path
    shipped: bool
    """Whether it is one of the examples that come with kvtop."""
    problem: Failure | None = None
    """Why it cannot be used, or None."""


def list_profiles(environ: Mapping[str, str]) -> list[ProfileEntry]:
    """Return all profiles by name; one of the user's hides a shipped one of the same name.

    Raises KvtopError `unreadable` when the user's folder cannot be listed.
    """
    found = _files(environ)
    return [
        ProfileEntry(name, path, shipped, _problem(name, path))
        for name, (path, shipped) in sorted(found.items())
    ]


def load_profile(name: str, environ: Mapping[str, str]) -> Profile:
    """Return the profile of that name, the user's before a shipped one.

    Raises KvtopError `no_such_profile`, or what `read_profile` raises.
    """
    if is_safe_name(name):
        for folder in (profiles_dir(environ), shipped_dir("profiles")):
            path = folder / f"{name}{_SUFFIX}"
            if path.is_symlink() or path.exists():
                return read_profile(path)
    raise KvtopError(_no_such_profile(name, environ))


def _files(environ: Mapping[str, str]) -> dict[str, tuple[Path, bool]]:
    own = {path.stem: (path, False) for path in _toml_files(profiles_dir(environ))}
    shipped = {path.stem: (path, True) for path in _toml_files(shipped_dir("profiles"))}
    return {**shipped, **own}


def _toml_files(folder: Path) -> list[Path]:
    """Return the TOML files of a folder; hidden ones belong to editors."""
    try:
        names = [path for path in folder.iterdir() if path.suffix == _SUFFIX]
    except FileNotFoundError:
        return []
    except OSError as error:
        text = f"The profile folder {folder} cannot be read: {error.strerror}."
        raise KvtopError(Failure.of("unreadable", text, "Check its owner and mode.")) from None
    return [path for path in names if not path.name.startswith(".")]


def _problem(name: str, path: Path) -> Failure | None:
    if not is_safe_name(name):
        text = f"{path.name} cannot be selected: a name has letters, digits, dots and dashes, at most 64."
        return Failure.of("bad_name", text, "Rename the file.")
    try:
        read_profile(path)
    except KvtopError as error:
        return error.failure
    return None


def _no_such_profile(name: str, environ: Mapping[str, str]) -> Failure:
    known = sorted(filter(is_safe_name, _files(environ)))
    if not known:
        hint = f'Write one: {profiles_dir(environ)}/NAME.toml with base_url = "https://…" and model = "…".'
        return Failure.of("no_such_profile", f"There is no profile {shown(name)}, and no other one.", hint)
    close = nearest(name.removesuffix(_SUFFIX), known)
    meant = f"Did you mean {close}? " if close else ""
    hint = f"{meant}There are: {', '.join(known)}. Your own go into {profiles_dir(environ)}."
    return Failure.of("no_such_profile", f"There is no profile {shown(name)}.", hint)
