"""The profiles as the scan dialog offers them: where each comes from, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtop.model.failure import Failure, KvtopError
from kvtop.providers.profile_file import read_profile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kvtop.providers.profile import Profile
    from kvtop.providers.store import ProfileEntry


@dataclass(frozen=True, slots=True)
class ProfileChoice:
    """One profile. Without `profile` and `problem` it has not been read yet."""

    name: str
    shipped: bool
    profile: Profile | None = None
    problem: Failure | None = None
    """Why it cannot be used now."""


def unread(entries: Iterable[ProfileEntry]) -> tuple[ProfileChoice, ...]:
    """Return the choices as far as a list of profiles tells, the user's own first."""
    choices = (ProfileChoice(entry.name, entry.shipped, problem=entry.problem) for entry in entries)
    return tuple(sorted(choices, key=lambda choice: choice.shipped))


def read_choices(entries: Iterable[ProfileEntry], environ: Mapping[str, str]) -> tuple[ProfileChoice, ...]:
    """Return the same choices with what the profiles say. Reads files: for a thread. No key is looked at."""
    choices = (_read(entry, environ) for entry in entries)
    return tuple(sorted(choices, key=lambda choice: choice.shipped))


def _read(entry: ProfileEntry, environ: Mapping[str, str]) -> ProfileChoice:
    if entry.problem is not None:
        return ProfileChoice(entry.name, entry.shipped, problem=entry.problem)
    try:
        profile = read_profile(entry.path)
    except KvtopError as error:
        return ProfileChoice(entry.name, entry.shipped, problem=error.failure)
    return ProfileChoice(entry.name, entry.shipped, profile, _missing_key(profile, environ))


def _missing_key(profile: Profile, environ: Mapping[str, str]) -> Failure | None:
    variable = profile.key.env
    if variable is None or environ.get(variable):
        return None
    text = f"The key of profile {profile.name} is in the variable {variable}, which is not set."
    return Failure.of("no_key", text, f"Leave, export {variable}=… and start again.")
