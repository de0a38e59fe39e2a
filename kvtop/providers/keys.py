"""Finding the key of a profile. No message, log or exception ever holds it."""

from __future__ import annotations

import shlex
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtop.model.failure import Failure, KvtopError
from kvtop.model.secret import Secret
from kvtop.providers.key_command import CommandResult, run_key_command
from kvtop.providers.key_text import oddity_of
from kvtop.settings.paths import expand_home

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kvtop.providers.profile import Profile

_LARGEST_KEY_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class ResolvedKey:
    """A key and where it came from."""

    secret: Secret | None
    """None when the profile names no key: local servers need none."""
    origin: str
    """`env NAME`, `file PATH`, `command PROGRAM`, `profile` or `none`."""
    flags: tuple[Failure, ...] = ()
    """What works but deserves a warning: `key_mode`."""


def resolve_key(profile: Profile, environ: Mapping[str, str]) -> ResolvedKey:
    """Return the key that a profile names.

    Raises KvtopError `no_key` when it is not there and `odd_key` when it is one that no server takes.
    """
    source = profile.key
    if source.env:
        return key_from_env(source.env, environ)
    if source.file:
        return _from_file(_beside(profile, source.file, environ))
    if source.command:
        return _from_command(source.command, environ)
    if source.literal:
        return _checked(source.literal, "profile", "The key in the profile", "Paste the bare key, or use key_env.")
    return ResolvedKey(None, "none")


def key_from_env(name: str, environ: Mapping[str, str]) -> ResolvedKey:
    """Return the key in an environment variable.

    Raises KvtopError `no_key` when it is unset or empty, `odd_key` when quotes, white space or a
    placeholder came along.
    """
    hint = f"export {name}=…"
    if name not in environ:
        raise KvtopError(Failure.of("no_key", f"The environment variable {name} is not set.", hint))
    return _checked(Secret(environ[name]), f"env {name}", f"The environment variable {name}", hint)


def _checked(secret: Secret, origin: str, subject: str, hint: str) -> ResolvedKey:
    oddity = oddity_of(secret)
    if oddity is None:
        return ResolvedKey(secret, origin)
    code = "no_key" if oddity == "is empty" else "odd_key"
    raise KvtopError(Failure.of(code, f"{subject} {oddity}.", hint))


def _beside(profile: Profile, text: str, environ: Mapping[str, str]) -> Path:
    """Return a path of a profile: `~` expanded, a relative one taken from the profile's folder."""
    path = expand_home(text, environ)
    return path if profile.path is None else profile.path.parent / path


def _from_file(path: Path) -> ResolvedKey:
    hint = f"Put the bare key, and nothing else, into {shlex.quote(str(path))} (mode 600)."
    mode, secret = _read_key_file(path)
    if secret is None:
        raise KvtopError(Failure.of("no_key", f"The key file {path} cannot be read, or is not there.", hint))
    lines = sum(1 for line in secret.reveal().splitlines() if line.strip())
    if lines > 1:
        text = f"The key file {path} holds {lines} lines; a key is one line."
        raise KvtopError(Failure.of("odd_key", text, hint))
    one_line = Secret(secret.reveal().strip("\r\n"))
    found = _checked(one_line, f"file {path}", f"The key file {path}", hint)
    return ResolvedKey(found.secret, found.origin, mode_flags(path, mode))


def _read_key_file(path: Path) -> tuple[int, Secret | None]:
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            return mode, None
        with path.open("rb") as file:
            raw = file.read(_LARGEST_KEY_BYTES)
    except (OSError, ValueError):
        return 0, None
    return mode, Secret(raw.decode("utf-8-sig", errors="replace"))


def mode_flags(path: Path, mode: int) -> tuple[Failure, ...]:
    """Return a warning when others than the owner may read a file that holds a key."""
    if not mode & (stat.S_IRWXG | stat.S_IRWXO):
        return ()
    text = f"{path} holds a key and its mode is {stat.S_IMODE(mode):o}: others can get at it."
    return (Failure.of("key_mode", text, f"chmod 600 {shlex.quote(str(path))}"),)


def _from_command(argv: tuple[str, ...], environ: Mapping[str, str]) -> ResolvedKey:
    result = run_key_command(argv, environ)
    program = argv[0]
    if result.trouble:
        raise KvtopError(Failure.of("no_key", f"key_command {program}: {_told(result)}", _COMMAND_HINT))
    bare = Secret(result.output.reveal().strip("\r\n"))
    return _checked(bare, f"command {program}", f"What key_command {program} prints", _COMMAND_HINT)


_COMMAND_HINT = "Run it in a shell: it must print the bare key and nothing else."


def _told(result: CommandResult) -> str:
    said = f" It said: {result.message}" if result.message else ""
    return f"{result.trouble}.{said}"
