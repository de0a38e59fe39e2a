"""From a profile, or from flags, to the endpoint that requests go to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kvtop.model.endpoint import DIALECTS, OPENAI_CHAT, Endpoint, EngineHints
from kvtop.model.failure import Failure, KvtopError
from kvtop.providers.key_text import is_variable_name
from kvtop.providers.keys import ResolvedKey, beside, key_from_env, resolve_key
from kvtop.providers.profile import DialectProfile
from kvtop.providers.urls import checked_base_url, without_version
from kvtop.settings.toml_table import shown
from kvtop.settings.toml_text import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvtop.providers.profile import Profile


def endpoint_of(profile: Profile, environ: Mapping[str, str], dialect: str | None = None) -> Endpoint:
    """Return the endpoint that a profile describes, in its own dialect or in another one that it has.

    Raises KvtopError `bad_value`, `no_dialect`, `no_key` or `odd_key`.
    """
    spoken = _known_dialect(dialect or profile.dialect)
    other = _other_dialect(profile, spoken)
    key = resolve_key(profile, environ)
    body = profile.extra_body if other.extra_body is None else other.extra_body
    return Endpoint(
        base_url=other.base_url or profile.base_url,
        model=other.model or profile.model,
        dialect=spoken,
        name=profile.name,
        key=key.secret,
        key_origin=key.origin,
        paths=_paths(profile, other),
        headers=dict(profile.headers),
        extra_body=dict(body),
        context_window=profile.context_window,
        price=profile.price,
        engine=_engine(profile, environ),
        verify_tls=profile.verify_tls,
    )


def endpoint_from_flags(
    base_url: str, model: str | None, key_env: str | None, dialect: str | None, environ: Mapping[str, str]
) -> Endpoint:
    """Return the endpoint that the command line describes; without `key_env` no key is sent.

    Its `model` is empty where none was named: the server is still to be asked.

    Raises KvtopError `bad_value`, `no_key` or `odd_key`.
    """
    if model is not None and not model.strip():
        raise _bad_flag("--model is empty.", "Name the model as /v1/models lists it, or leave it out.")
    if key_env is not None and not is_variable_name(key_env):
        text = "--key-env must be the name of an environment variable, not the key itself."
        raise _bad_flag(text, "export NAME=… and give --key-env NAME")
    spoken = _known_dialect(dialect or OPENAI_CHAT)
    key = ResolvedKey(None, "none") if key_env is None else key_from_env(key_env, environ)
    return Endpoint(_base_url(base_url), (model or "").strip(), spoken, key=key.secret, key_origin=key.origin)


def _base_url(text: str) -> str:
    try:
        return without_version(checked_base_url(text), ())
    except ValueError as error:
        raise _bad_flag(f"--base-url {error}.", "For example --base-url http://127.0.0.1:8000") from None


def _bad_flag(text: str, hint: str) -> KvtopError:
    return KvtopError(Failure.of("bad_value", text, hint))


def _known_dialect(name: str) -> str:
    if name in DIALECTS:
        return name
    close = nearest(name, DIALECTS)
    hint = f"Did you mean {close}?" if close else ""
    raise _bad_flag(f"There is no dialect {shown(name)}; there are {', '.join(DIALECTS)}.", hint)


def _other_dialect(profile: Profile, spoken: str) -> DialectProfile:
    """Return what is different in a dialect: nothing for the profile's own."""
    if spoken == profile.dialect:
        return DialectProfile()
    if spoken not in profile.dialects:
        has = ", ".join((profile.dialect, *profile.dialects))
        text = f"The profile {profile.name} has no dialect {spoken}; it has {has}."
        raise KvtopError(Failure.of("no_dialect", text, f"Add a table [dialects.{spoken}] to it."))
    return profile.dialects[spoken]


def _paths(profile: Profile, other: DialectProfile) -> dict[str, str]:
    """Return the paths of a dialect; the profile's own hold only on the profile's own base URL."""
    shared = profile.paths if other.base_url is None else {}
    return {**shared, **other.paths}


def _engine(profile: Profile, environ: Mapping[str, str]) -> EngineHints:
    config = profile.engine.model_config
    if config is None:
        return profile.engine
    return replace(profile.engine, model_config=str(beside(profile, config, environ)))
