"""Finding the key of a profile. No message, log or exception ever holds it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kvtop.model.failure import Failure, KvtopError
from kvtop.model.secret import Secret
from kvtop.providers.key_command import CommandResult, run_key_command
from kvtop.providers.key_files import mode_flags, read_key_file
from kvtop.providers.key_text import oddity_of, oddity_of_lines
from kvtop.settings.paths import expand_home

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kvtop.providers.profile import Profile


_COMMAND_HINT = "Run it in a shell: it must print the bare key and nothing else."


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
        return _from_file(beside(profile, source.file, environ), f"file {source.file}")
    if source.command:
        return _from_command(source.command, environ)
    if source.literal is not None:
        return _checked(
            source.literal, "profile", "The key in the profile", "Paste the bare key, or use key_env."
        )
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


def beside(profile: Profile, text: str, environ: Mapping[str, str]) -> Path:
    """Return a path that a profile names: `~` expanded, a relative one taken from the profile's folder."""
    path = expand_home(text, environ)
    return path if profile.path is None else profile.path.parent / path


def _from_file(path: Path, origin: str) -> ResolvedKey:
    hint = f"Put the bare key, and nothing else, into {shlex.quote(str(path))} (mode 600)."
    secret = read_key_file(path)
    if secret is None:
        raise KvtopError(Failure.of("no_key", f"The key file {path} is not there or cannot be read.", hint))
    oddity = oddity_of_lines(secret)
    if oddity:
        raise KvtopError(Failure.of("odd_key", f"The key file {path} {oddity}.", hint))
    one_line = Secret(secret.reveal().strip("\r\n"))
    found = _checked(one_line, origin, f"The key file {path}", hint)
    return replace(found, flags=mode_flags(path))


def _from_command(argv: tuple[str, ...], environ: Mapping[str, str]) -> ResolvedKey:
    result = run_key_command(argv, environ)
    program = argv[0]
    if result.trouble:
        raise KvtopError(Failure.of("no_key", f"key_command {program}: {_told(result)}", _COMMAND_HINT))
    bare = Secret(result.output.reveal().strip("\r\n"))
    return _checked(bare, f"command {program}", f"What key_command {program} prints", _COMMAND_HINT)


def _told(result: CommandResult) -> str:
    said = f" It said: {result.message}" if result.message else ""
    return f"{result.trouble}.{said}"
