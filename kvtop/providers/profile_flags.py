"""What in a profile works but deserves a warning."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kvtop.model.failure import Failure
from kvtop.providers.key_files import mode_flags
from kvtop.providers.profile import KeySource
from kvtop.providers.urls import sends_in_the_clear

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvtop.providers.profile import Profile


def flags_of(profile: Profile, written_name: str | None, written_url: str) -> Profile:
    """Return the profile with its `flags` filled in."""
    flags = (
        *_name_flags(profile, written_name),
        *_url_flags(profile, written_url),
        *_key_flags(profile),
        *_transport_flags(profile),
    )
    return replace(profile, flags=flags)


def _name_flags(profile: Profile, written: str | None) -> Iterator[Failure]:
    if written is not None and written != profile.name:
        text = f"The profile is selected as {profile.name}, after its file; its name line says {written!r}."
        yield Failure.of("name_differs", text, "Let the name line say the same, or remove it.")


def _url_flags(profile: Profile, written: str) -> Iterator[Failure]:
    if written != profile.base_url:
        text = f"base_url ends with /v1, which the paths bring; it is read as {profile.base_url}."
        yield Failure.of("base_url_version", text, "Write it without /v1.")


def _key_flags(profile: Profile) -> Iterator[Failure]:
    if profile.key.literal is None or profile.path is None:
        return
    text = f"The key stands in {profile.path} itself."
    yield Failure.of("literal_key", text, "Put it into an environment variable and name that in key_env.")
    yield from mode_flags(profile.path)


def _transport_flags(profile: Profile) -> Iterator[Failure]:
    own = (dialect.base_url for dialect in profile.dialects.values())
    urls = [profile.base_url, *(url for url in own if url)]
    if profile.key != KeySource() and any(sends_in_the_clear(url) for url in urls):
        text = "The key is sent without encryption: base_url is http:// on another host."
        yield Failure.of("plain_http", text, "Use https://, or an SSH tunnel to the host.")
    if not profile.verify_tls:
        text = "Certificates are not checked (verify_tls = false): whoever sits in between can read the key."
        yield Failure.of("tls_unverified", text, "Install the server's certificate instead.")
