"""What about an endpoint works but deserves a line on stderr before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kvtop.cli.streams import say_warning
from kvtop.model.endpoint import Endpoint
from kvtop.model.failure import Failure
from kvtop.providers.key_files import mode_flags
from kvtop.providers.keys import beside
from kvtop.providers.profile import Profile
from kvtop.providers.urls import sends_in_the_clear

_TLS = "tls_unverified"


def warn_of_profile(profile: Profile, environ: Mapping[str, str]) -> None:
    """Say what is doubtful about a profile and where it keeps its key, one line each."""
    for flag in (*profile.flags, *_key_flags(profile, environ)):
        if flag.code == _TLS:
            flag = Failure(flag.code, f"TLS is not verified. {flag.text}", flag.hint)
        say_warning(flag)


def warn_of_flags(endpoint: Endpoint) -> None:
    """Say what is doubtful about an endpoint given by flags."""
    if endpoint.key is not None and sends_in_the_clear(endpoint.base_url):
        text = "The key is sent without encryption: --base-url is http:// on another host."
        say_warning(Failure("plain_http", text, "Use https://, or an SSH tunnel to the host."))


def _key_flags(profile: Profile, environ: Mapping[str, str]) -> Iterator[Failure]:
    if profile.key.file is not None:
        yield from mode_flags(beside(profile, profile.key.file, environ))
